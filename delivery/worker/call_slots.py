"""
How many calls one worker has in the air at the same time, and who claims a batch for the next.

More threads than that work on batches: while all places are taken by calls that wait for their
answers, the next batches are claimed and rendered already, and those whose answers came are
settled. So what lies between two calls costs the provider's time nothing.

That is so where calls are quick. Beside a call of seconds the hundredths between two are nothing,
and a batch that was claimed so far ahead of its call would be kept from other workers, and would go
before what comes into line meanwhile and is due earlier. There a batch is claimed only for a place
that is free; and so it is where calls hang.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from delivery.postmark.client import now_s

# A call that took longer is not quick, and no batch waits longer for its place.
QUICK_S = 1.0
# Whoever waits looks as often whether the worker is stopping meanwhile.
LOOKS_EVERY_S = 0.2


def threads_for(calls: int) -> int:
    """
    How many threads keep so many calls in the air: half as many again, one for one.

    With 8 calls of 200 ms that brought a worker from 72 to 88 % of what the calls allow
    (`make bench ROWS=through_200_ms`).
    """
    return calls + calls // 2


class CallSlots:
    """The places of one worker's calls, `most` at a time; shared by its threads."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._ready = 0  # Batches that are rendered and wait for a place.
        self._is_quick = False  # Whether the last that was heard of a call is that it was quick.
        # One lock; whoever is woken is somebody who can go on.
        self._lock = threading.Lock()
        self._place_came_free = threading.Condition(self._lock)
        self._turn_came = threading.Condition(self._lock)

    def turn(self, is_stopping: Callable[[], bool]) -> Place | None:
        """
        The turn of a thread to claim a batch, to be given up with `free`; None if it has none.

        Where calls are quick it is always somebody's turn. Otherwise a place has to be free, which
        is held from then on; it is waited for `QUICK_S` at most.
        """
        place = Place(self)
        with self._lock:

            def it_is() -> bool:
                # What is ready already comes first.
                return self._is_quick or self._free > self._ready

            if not _wait(self._turn_came, it_is, now_s() + QUICK_S, is_stopping):
                return None
            if not self._is_quick:
                self._take(place)
        return place

    def took(self, seconds: float) -> None:
        """A call ended after so long, whatever came of it."""
        with self._lock:
            was_quick, self._is_quick = self._is_quick, seconds <= QUICK_S
            if self._is_quick and not was_quick:
                self._turn_came.notify_all()

    def come(self, place: Place, until_s: float, is_stopping: Callable[[], bool]) -> bool:
        """`Place.comes`, which says what it is."""
        with self._lock:
            if place.is_held:
                return not is_stopping()
            self._ready += 1
            longest_s = min(until_s, now_s() + QUICK_S)
            try:
                if _wait(self._place_came_free, lambda: self._free > 0, longest_s, is_stopping):
                    self._take(place)
                else:
                    # Those in the air do not end: for the next claim a place has to be free.
                    self._is_quick = False
            finally:
                self._ready -= 1
            return place.is_held

    def free(self, place: Place) -> None:
        """Give a place up, if it is held."""
        with self._lock:
            if place.is_held:
                place.is_held = False
                self._free += 1
                (self._place_came_free if self._ready else self._turn_came).notify()

    def _take(self, place: Place) -> None:
        self._free -= 1
        place.is_held = True


class Place:
    """The place of one batch among the calls of its worker: held, or still to be waited for."""

    def __init__(self, calls: CallSlots) -> None:
        self._calls = calls
        self.is_held = False

    def comes(self, *, until_s: float, is_stopping: Callable[[], bool]) -> bool:
        """
        Have the place for a call that may begin now; False if there is none for it.

        That is so if none came free by `until_s`, a reading of `now_s()`, or within `QUICK_S`; and
        if the worker is stopping: then no call begins any more.
        """
        return self._calls.come(self, until_s, is_stopping)

    def free(self) -> None:
        """Give the place up, if it is held."""
        self._calls.free(self)


def _wait(
    changed: threading.Condition,
    is_so: Callable[[], bool],
    until_s: float,
    is_stopping: Callable[[], bool],
) -> bool:
    """
    Wait until it is so; False if it was not by `until_s`, or if the worker is stopping.

    What is so at once needs no time. The caller holds the lock of `changed`.
    """
    while not is_stopping():
        if is_so():
            return True
        left_s = until_s - now_s()
        if left_s <= 0:
            return False
        changed.wait(min(left_s, LOOKS_EVERY_S))
    return False
