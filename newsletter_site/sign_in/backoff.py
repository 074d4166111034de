"""
How long somebody waits who failed to sign in: the only place that decides it. Pure.

A few failures are free. After them every further try costs a wait that doubles with each failure,
up to a bound. What is tried during a wait does not count and makes no wait longer, so whoever waits
gets their turn.
"""

from __future__ import annotations

from dataclasses import dataclass

# The longest wait is the first one doubled so often: 16 minutes after one minute.
DOUBLINGS = 4


@dataclass(frozen=True, slots=True)
class Patience:
    """
    How much is borne: `free` failures without a wait, then `first_wait_s`, doubling.

    After `forgotten_after_s` without a failure all of them are forgotten.
    """

    free: int
    first_wait_s: float
    forgotten_after_s: float


@dataclass(frozen=True, slots=True)
class Failures:
    """How many failures are on record, and how many seconds ago the last of them was counted."""

    number: int
    last_s_ago: float


NONE = Failures(0, 0.0)


def still_counting(failures: Failures, patience: Patience) -> int:
    """How many of them still count."""
    return 0 if failures.last_s_ago >= patience.forgotten_after_s else failures.number


def wait_left_s(failures: Failures, patience: Patience) -> float:
    """How many seconds are left until the next try; 0 if it may be made now."""
    over = still_counting(failures, patience) - patience.free
    if over < 0:
        return 0.0
    wait_s = patience.first_wait_s * 2.0 ** min(over, DOUBLINGS)
    # Where a clock was set back it lies ahead: the whole wait is left, and begins now (`counts`).
    return max(0.0, wait_s - max(0.0, failures.last_s_ago))
