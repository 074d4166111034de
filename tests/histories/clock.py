"""The true time of a history: the machine's own, and what the history says has passed."""

from __future__ import annotations

from delivery.postmark import now_s


class TrueClock:
    """
    Seconds that everybody agrees on: readers, the provider and a worker's own sense of time.

    Time passes here without waiting: whoever stores times has them moved into the past. The
    database's clock may be set forward or back besides; this one goes on evenly.
    """

    def __init__(self) -> None:
        self.passed_s = 0.0

    def now(self) -> float:
        """The true time, in seconds from some moment."""
        return now_s() + self.passed_s
