"""The only place for what is to happen after a while, by the clock and not by a call."""

import heapq
import threading
import time
from collections.abc import Callable


class Later:
    """Does things when their time comes, one after the other, in a thread of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Callable[[], object]]] = []
        self._made = 0
        self._thread: threading.Thread | None = None
        self._stopped = False

    @property
    def waiting(self) -> int:
        """How much is still to be done."""
        return len(self._waiting)

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Does it after so many seconds; at once, in the caller's thread, if there are none."""
        if seconds <= 0:
            act()
            return
        with self._changed:
            self._made += 1
            heapq.heappush(self._waiting, (time.monotonic() + seconds, self._made, act))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="later")
                self._thread.start()
            self._changed.notify_all()

    def hurry(self) -> int:
        """Does everything that waits now, in order; how many there were."""
        with self._changed:
            acts = [act for *_, act in sorted(self._waiting, key=lambda entry: entry[:2])]
            self._waiting.clear()
        for act in acts:
            act()
        return len(acts)

    def clear(self) -> None:
        """Forgets everything that waits."""
        with self._changed:
            self._waiting.clear()

    def stop(self) -> None:
        """Ends it; what waits is not done."""
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
