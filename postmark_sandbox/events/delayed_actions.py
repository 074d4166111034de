"""Actions that take effect after a while."""

import contextlib
import sched
import threading
import time
from collections.abc import Callable


class DelayedActions:
    """Runs actions when they are due, one after the other, in a thread of its own."""

    def __init__(self) -> None:
        self._scheduler = sched.scheduler(time.monotonic)
        self._changed = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False

    @property
    def waiting(self) -> int:
        return len(self._scheduler.queue)

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Run an action after so many seconds; without a delay at once, in the caller's thread."""
        if seconds <= 0:
            act()
            return
        self._scheduler.enter(seconds, 0, act)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="delayed")
                self._thread.start()
        self._changed.set()

    def hurry(self) -> int:
        """Run everything that waits now, in order; return how many."""
        acts = self.clear()
        for act in acts:
            act()
        return len(acts)

    def clear(self) -> list[Callable[[], object]]:
        """Drop everything that waits, and return it in order."""
        dropped: list[Callable[[], object]] = []
        for event in self._scheduler.queue:
            # The thread may have taken the event meanwhile.
            with contextlib.suppress(ValueError):
                self._scheduler.cancel(event)
                dropped.append(event.action)
        return dropped

    def stop(self) -> None:
        """End the thread; what waits is not done."""
        self._stopped = True
        self._changed.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._changed.clear()
            # Checked after the clear, so that a stop in between is not lost.
            if self._stopped:
                return
            self._changed.wait(self._scheduler.run(blocking=False))
