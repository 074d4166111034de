"""A process that is frozen with SIGSTOP, and the moment from which it is."""

import os
import signal


def freeze(child: int) -> None:
    """
    Stop a child of ours, by its process id; returns once all of its threads stand still.

    The system gives the signal to one thread, and the others run on until that one has come to its
    turn and stops them. A worker whose lock is let go in between goes further than it was to.
    """
    os.kill(child, signal.SIGSTOP)
    os.waitid(os.P_PID, child, os.WSTOPPED)
