"""Workers stand back for the site where both share a machine."""

import os


def raise_niceness(niceness: int) -> None:
    """Raise this thread's nice(1) value to `niceness`, 0 to 19, unless it is higher already."""
    now = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness > now:
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
