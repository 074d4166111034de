"""
What runs inside each child of the demo: a program that never outlives the demo.

`python -m newsletter_site.demo.child MODULE [ARGUMENT ...]` runs a module as
`python -m` would.
Its standard input is a pipe that only the demo holds open, so it ends with the demo however that
ends, by kill -9 too.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

ENDING_S = 10.0


def main() -> None:
    """Run the module that the arguments name."""
    # Until the program has a handler of its own: leave in good order, not in the middle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=end_with_the_demo, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def end_with_the_demo() -> None:
    """Ask this process to end once the demo is gone; end its whole group if that takes long."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ENDING_S)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main()
