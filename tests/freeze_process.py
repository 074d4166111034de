"""Freeze a process with SIGSTOP, and wait until it is frozen."""

import os
import signal


def freeze(child: int) -> None:
    """Stop a child process, and return once all of its threads are stopped.

    The signal reaches one thread first, and the other threads run a little longer. If a test
    released a worker's lock before all threads are stopped, the worker would run too far.
    """
    os.kill(child, signal.SIGSTOP)
    os.waitid(os.P_PID, child, os.WSTOPPED)
