"""End calls at their deadlines, with one thread for all calls of a process."""

import itertools
import logging
import math
import os
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Deadlines:
    """Deadlines by the clock `now_s`, in seconds. Thread-safe, empty after a fork."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._numbers = itertools.count()
        self._begin()
        # The parent's deadlines belong to its calls. A thread that does not exist in the child may
        # hold its lock.
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._ends: dict[int, tuple[float, Callable[[], object]]] = {}
        self._looks_at_s = math.inf
        self._thread: threading.Thread | None = None

    def add(self, at_s: float, end: Callable[[], object]) -> int:
        """Call `end` once at `at_s`; return the number that cancels it."""
        with self._changed:
            number = next(self._numbers)
            self._ends[number] = (at_s, end)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="deadlines", daemon=True)
                self._thread.start()
            elif at_s < self._looks_at_s:
                self._changed.notify()
        return number

    def cancel(self, number: int) -> None:
        """Cancel a deadline. Its `end` may be running already."""
        with self._changed:
            self._ends.pop(number, None)

    def _watch(self) -> None:
        while True:
            for end in self._wait_for_due():
                try:
                    end()
                except Exception:
                    logger.exception("a call could not be ended at its deadline")

    def _wait_for_due(self) -> list[Callable[[], object]]:
        with self._changed:
            while True:
                now = self._now_s()
                due = [number for number, (at_s, _) in self._ends.items() if at_s <= now]
                if due:
                    return [self._ends.pop(number)[1] for number in due]
                self._looks_at_s = min((at_s for at_s, _ in self._ends.values()), default=math.inf)
                lasts_s = self._looks_at_s - now
                self._changed.wait(None if math.isinf(lasts_s) else lasts_s)
