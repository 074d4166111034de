"""The clock of deadlines and leases within one process."""

import time


def now_s() -> float:
    """Read a clock in seconds.

    If possible, the clock also runs while the machine sleeps.
    """
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
