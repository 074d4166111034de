"""
Ends what takes too long: one thread for all calls of a process.

A timer for each call would be a thread for each call, and starting one takes longer than rendering
the messages of a batch.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import threading
import weakref
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Deadlines:
    """
    What has to be ended when, by the seconds of the clock `now_s`.

    Safe for any number of threads; its own is started with the first deadline. A process that was
    forked has a thread of its own, and none of the deadlines of the one it comes from.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._numbers = itertools.count()
        self._begin()
        begins_anew = weakref.WeakMethod(self._begin)

        def in_child() -> None:
            if begin := begins_anew():
                begin()

        # What was there belongs to calls of another process, whose sockets this one shares; and its
        # lock may have been held at that moment by a thread that this one does not have.
        os.register_at_fork(after_in_child=in_child)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._ends: dict[int, tuple[float, Callable[[], object]]] = {}
        self._looks_at_s = math.inf
        self._thread: threading.Thread | None = None

    def add(self, at_s: float, end: Callable[[], object]) -> int:
        """Have `end` called at `at_s`, once; the number it is taken back by."""
        with self._changed:
            number = next(self._numbers)
            self._ends[number] = (at_s, end)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="deadlines", daemon=True)
                self._thread.start()
            elif at_s < self._looks_at_s:
                # A later one is no news: whoever ends in time never wakes the thread.
                self._changed.notify()
        return number

    def take_back(self, number: int) -> None:
        """It ended in time. Its `end` may be under way at this moment, and so come once more."""
        with self._changed:
            self._ends.pop(number, None)

    def _watch(self) -> None:
        while True:
            for end in self._wait_for_due():
                try:
                    end()
                except Exception:
                    # The others are still to be ended, and those that come.
                    logger.exception("what was to end at its deadline did not let itself be ended")

    def _wait_for_due(self) -> list[Callable[[], object]]:
        """Those that are due, once there are any; they are no longer held then."""
        with self._changed:
            while True:
                now = self._now_s()
                due = [number for number, (at_s, _) in self._ends.items() if at_s <= now]
                if due:
                    return [self._ends.pop(number)[1] for number in due]
                self._looks_at_s = min((at_s for at_s, _ in self._ends.values()), default=math.inf)
                lasts_s = self._looks_at_s - now
                self._changed.wait(None if math.isinf(lasts_s) else lasts_s)
