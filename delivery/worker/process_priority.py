"""Workers stand back for the site where both share a machine."""

import os


def stand_back(niceness: int) -> None:
    """
    Let everything else on the machine go first, from this thread on and in those it starts.

    `niceness` is that of nice(1), 0 to 19. Whoever was started further back stays there, because
    only root may come forward.
    """
    now = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness > now:
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
