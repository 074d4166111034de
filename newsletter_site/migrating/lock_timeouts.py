"""The only place that decides how long a migration waits: for one lock, between tries, in all."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 10.0


@dataclass(frozen=True, slots=True)
class Patience:
    """
    `lock_s`: seconds that a migration may wait for one lock, and so anybody behind it.

    `in_all_s`: seconds of trying without getting on before the run gives up.
    """

    lock_s: float
    in_all_s: float

    @property
    def one_build_s(self) -> float:
        """
        Seconds that an index which is built concurrently may wait for other transactions.

        Nobody queues behind that, so it may wait long; cut too soon, it never comes to an end.
        """
        return self.in_all_s

    def pause_s(self, tries: int, waited_s: float) -> float | None:
        """
        Seconds until the next try, after `tries` that failed since something was last achieved,
        `waited_s` seconds ago. None: it has been long enough.
        """
        left_s = self.in_all_s - waited_s
        if left_s <= 0:
            return None
        doubled_s = FIRST_PAUSE_S * 2.0 ** min(tries - 1, 20)
        return min(doubled_s, LONGEST_PAUSE_S, left_s)
