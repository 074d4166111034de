"""
A progress page's readings in a process of its own, within a site, while others send:
`python -m benchmarks.progress_read SESSION PATH TIMES`.

Asked of the site's own WSGI application, the whole way through middleware, session and permissions:
a reading of its own each time, and in turns with it one for a page that shares what was read within
the last second, as pages in one web process do. Tells the milliseconds of each, and how many of
them were spent on the processor.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.browser import InProcess
from benchmarks.within import begin, tell

WARMING_UP = 3
REST_S = 0.1  # not a flood: whoever sends has the processor as before


def main() -> None:
    """Read so many times."""
    session, path, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
    begin()
    from newsletter_site.wsgi import application

    browser = InProcess(application, session)

    def read(address: str) -> tuple[float, float]:
        began_s = time.thread_time()
        page = browser.get(address)
        on_processor_s = time.thread_time() - began_s
        assert page.status == 200, page
        assert json.loads(page.body)["audience"], page
        time.sleep(REST_S)
        return 1000 * page.took_s, 1000 * on_processor_s

    both = [(read(path), read(f"{path}&page=reads")) for _ in range(WARMING_UP + times)]
    own, shared = zip(*both[WARMING_UP:], strict=True)
    tell({"own": own, "shared": shared})


if __name__ == "__main__":
    main()
