"""Run a module in a process that ends with the demo.

The demo keeps the child's standard input open. When this input ends, because the demo has ended,
the child ends too.
"""

import os
import runpy
import signal
import sys
import threading
import time

ENDING_S = 10.0


def end_with_the_demo() -> None:
    """Wait for the end of the demo, then end this process.

    If this process does not end soon, kill its process group.
    """
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ENDING_S)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    # Exit cleanly on SIGTERM until the program has installed its own handler.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=end_with_the_demo, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
