"""Freezing a process with SIGSTOP, and waiting until it is frozen."""

import os
import signal


def freeze(child: int) -> None:
    """Stop a child process; return once all of its threads are stopped.

    The system gives the signal to one thread, and the others run until that thread has been
    scheduled and stops them. A worker whose lock is released in between runs further than intended.
    """
    os.kill(child, signal.SIGSTOP)
    os.waitid(os.P_PID, child, os.WSTOPPED)
