"""
How many calls one worker has in the air at the same time.

More threads than that work on batches: while all places are taken by calls that wait for their
answers, the next batches are claimed and rendered already, and those whose answers came are
settled. So what lies between two calls costs the provider's time nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from delivery.postmark import now_s

# Whoever waits for a place looks as often whether the worker is stopping meanwhile.
LOOKS_EVERY_S = 0.2


def threads_for(calls: int) -> int:
    """
    How many threads keep so many calls in the air: half as many again, one for one.

    With 8 calls of 200 ms that brought a worker from 72 to 88 % of what the calls allow
    (`make bench ROWS=through_200_ms`).
    """
    return calls + calls // 2


class CallsInFlight:
    """The places of one worker's calls, `most` at a time; shared by its threads."""

    def __init__(self, most: int) -> None:
        self._places = threading.BoundedSemaphore(most)

    @contextmanager
    def place(self, *, until_s: float, is_stopping: Callable[[], bool]) -> Iterator[bool]:
        """
        A place for one call while the block lasts; False if there is none for it.

        That is so if none came free by `until_s`, a reading of `now_s()`, and if the worker is
        stopping: then no call begins any more.
        """
        is_there = self._wait(until_s, is_stopping)
        try:
            yield is_there
        finally:
            if is_there:
                self._places.release()

    def _wait(self, until_s: float, is_stopping: Callable[[], bool]) -> bool:
        while not is_stopping():
            left_s = until_s - now_s()
            if left_s <= 0:
                return False
            if self._places.acquire(timeout=min(left_s, LOOKS_EVERY_S)):
                if not is_stopping():
                    return True
                # It stopped while this one waited: the place that came free is a call's end.
                self._places.release()
        return False
