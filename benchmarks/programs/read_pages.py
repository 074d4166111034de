"""Open pages of the desk within a site.

Run `python -m benchmarks.programs.read_pages TIMES ROUNDS`, with JSON on standard input: by name,
each page's session, path, a text that it shows, and whether an open page asks for news. Requests go
to the site's own WSGI application. It prints, by round and page, the milliseconds of the whole
answers, of their CPU time, and in the view of the progress page.
"""

import json
import re
import sys
import time
from collections.abc import Callable

from benchmarks.programs.browser import InProcess, Page
from benchmarks.programs.read_progress import timed_view
from benchmarks.site.within_site import begin, print_result

WARMING_UP = 3
LISTED = re.compile(rb'id="listed" value="([^"]*)"')


def main() -> None:
    """Open every page `TIMES` times a round."""
    times, rounds = int(sys.argv[1]), int(sys.argv[2])
    begin()
    in_view_s = timed_view("progress")
    from newsletter_site.wsgi import application

    def opener(session: str, path: str, *, asks: bool) -> Callable[[], Page]:
        browser = InProcess(application, session)
        listed = LISTED.search(browser.get(path).body) if asks else None
        if listed is None:
            return lambda: browser.get(path)
        return lambda: browser.poll(f"{path}?listed={listed[1].decode()}")

    pages = {
        name: (opener(session, path, asks=asks), text.encode())
        for name, (session, path, text, asks) in json.load(sys.stdin).items()
    }

    def read(open_page: Callable[[], Page], text: bytes) -> tuple[float, float, float]:
        in_view_s.clear()
        began_s = time.thread_time()
        page = open_page()
        on_processor_s = time.thread_time() - began_s
        assert page.status == 200, page
        assert text in page.body, f"{text!r} is missing"
        in_view = in_view_s.pop() if in_view_s else 0.0
        return 1000 * page.took_s, 1000 * on_processor_s, 1000 * in_view

    def read_all(number: int) -> dict[str, list[tuple[float, float, float]]]:
        return {name: [read(*page) for _ in range(number)] for name, page in pages.items()}

    read_all(WARMING_UP)
    print_result([read_all(times) for _ in range(rounds)])


if __name__ == "__main__":
    main()
