"""Measure the progress page within a site while workers send.

Run `python -m benchmarks.programs.read_progress SESSION PATH TIMES`. Requests go to the site's own
WSGI application, with middleware, session and permissions. They alternate between `progress.json`
and the request of an open page with all its parts. It prints for each the milliseconds in the view,
of the whole answer, and of CPU time.
The view begins after the middleware. It includes the queries for the user and their permissions.
"""

import sys
import time
from functools import wraps
from typing import Any

from benchmarks.programs.browser import InProcess
from benchmarks.site.within_site import begin, print_result

WARMING_UP = 3
REST_S = 0.1  # pause, so that the workers keep the processor


def main() -> None:
    """Make `TIMES` requests."""
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
    print_result({"own": own, "poll": poll})


def timed_view(name: str) -> list[float]:
    """Time the desk's view of this name; return a list of seconds, one per call."""
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
