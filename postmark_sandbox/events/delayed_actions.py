"""Actions that take effect after a while."""

import heapq
import threading
import time
from collections.abc import Callable


class DelayedActions:
    """Runs actions when they are due, one after the other, in a thread of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Callable[[], object]]] = []
        self._made = 0
        self._thread: threading.Thread | None = None
        self._stopped = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Run an action after so many seconds; without a delay at once, in the caller's thread."""
        if seconds <= 0:
            act()
            return
        with self._changed:
            self._made += 1
            heapq.heappush(self._waiting, (time.monotonic() + seconds, self._made, act))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="delayed")
                self._thread.start()
            self._changed.notify_all()

    def hurry(self) -> int:
        """Run everything that waits now, in order; return how many."""
        with self._changed:
            waiting = sorted(self._waiting, key=lambda entry: entry[:2])
            self._waiting.clear()
        for *_, act in waiting:
            act()
        return len(waiting)

    def clear(self) -> None:
        with self._changed:
            self._waiting.clear()

    def stop(self) -> None:
        """End the thread; what waits is not done."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while (act := self._next()) is not None:
            act()

    def _next(self) -> Callable[[], object] | None:
        with self._changed:
            while not self._stopped:
                left = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(left)
            return None
