"""Calls that wait for a release, a time or a condition."""

import threading
from collections.abc import Callable


class Gate:
    """A gate that holds calls until they are released or the sandbox stops."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # One list for each held call. When a call is released, the outcome is added to the call's
        # list.
        self._held: list[list[str]] = []
        self._stopped = threading.Event()

    @property
    def held(self) -> int:
        """Return the number of held calls."""
        return len(self._held)

    def hold(self) -> str:
        """Wait until the call is released; return `answer` or `close`."""
        with self._changed:
            outcome: list[str] = []
            self._held.append(outcome)
            self._changed.notify_all()
            self._changed.wait_for(lambda: outcome or self._stopped.is_set())
            return outcome[0] if outcome else "close"

    def release(self, outcome: str = "answer") -> int:
        """Release every held call; return the number of released calls.

        With the outcome `answer` the calls are answered; with `close` their connections are closed.
        """
        with self._changed:
            released, self._held = self._held, []
            for held in released:
                held.append(outcome)
            self._changed.notify_all()
            return len(released)

    def changed(self) -> None:
        """Wake the threads that wait for a condition, because the state has changed."""
        with self._changed:
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait up to `timeout_s` seconds for a condition; return whether it became true."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped.is_set() or condition(), timeout_s)
            return condition()

    def pause(self, seconds: float) -> None:
        if seconds > 0:
            self._stopped.wait(seconds)

    def stop(self) -> None:
        self._stopped.set()
        self.changed()
