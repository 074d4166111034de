"""
A progress page's readings in a process of its own, within a site, while others send:
`python -m benchmarks.programs.read_progress SESSION PATH TIMES`.

Asked of the site's own WSGI application, the whole way through middleware, session and permissions:
`progress.json`, and in turns with it what an open page asks for, with all its parts. Tells of each
the milliseconds in the view, those of the whole answer, and how many of these were spent on the
processor.

The view begins where the middleware ends. Who asks, and what they may do, is looked up within it.
"""

import sys
import time
from functools import wraps
from typing import Any

from benchmarks.programs.browser import InProcess
from benchmarks.site.within_site import begin, tell

WARMING_UP = 3
REST_S = 0.1  # not a flood: whoever sends has the processor as before


def main() -> None:
    """Read so many times."""
    session, path, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
    begin()
    timed = {name: timed_view(name) for name in ("progress_json", "progress")}
    from newsletter_site.wsgi import application

    browser = InProcess(application, session)

    def read(view: str, address: str) -> tuple[float, float, float]:
        began_s = time.thread_time()
        page = (browser.get if view == "progress_json" else browser.poll)(address)
        on_processor_s = time.thread_time() - began_s
        assert page.status == 200, page
        assert b"audience" in page.body.lower(), page
        time.sleep(REST_S)
        return 1000 * timed[view].pop(), 1000 * page.took_s, 1000 * on_processor_s

    polled = path.replace("progress.json", "")
    both = [
        (read("progress_json", path), read("progress", polled)) for _ in range(WARMING_UP + times)
    ]
    own, poll = zip(*both[WARMING_UP:], strict=True)
    tell({"own": own, "poll": poll})


def timed_view(name: str) -> list[float]:
    """The seconds that the desk's view of this name takes, a value each time it is called."""
    from publishing.urls import urlpatterns

    (pattern,) = (each for each in urlpatterns if each.name == name)
    view, seconds = pattern.callback, []

    @wraps(view)
    def timed(*args: Any, **named: Any) -> Any:
        began = time.perf_counter()
        answer = view(*args, **named)
        seconds.append(time.perf_counter() - began)
        return answer

    pattern.callback = timed
    return seconds


if __name__ == "__main__":
    main()
