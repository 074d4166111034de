"""The only place where calls wait: for a release, for a while, or for something to have happened.

Everything that waits here is let go at once when the sandbox stops.
"""

import threading
from collections.abc import Callable


class Gate:
    """Holds calls until they are released, and lets others wait for what happens."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: dict[int, str] = {}
        self._outcomes: dict[int, str] = {}
        self._next = 1
        self._stopped = threading.Event()

    @property
    def held(self) -> int:
        """How many calls are being held now."""
        return len(self._held)

    def hold(self, name: str) -> str:
        """Waits until the call is released; returns `answer` or `close`, as it was released."""
        with self._changed:
            ticket = self._next
            self._next += 1
            self._held[ticket] = name
            self._changed.notify_all()
            self._changed.wait_for(lambda: ticket in self._outcomes or self._stopped.is_set())
            self._held.pop(ticket, None)
            return self._outcomes.pop(ticket, "close")

    def release(self, outcome: str = "answer") -> int:
        """Lets go every call that is being held now; returns how many. They go on to `answer`, or
        `close` the connection where they stand."""
        with self._changed:
            let_go = [ticket for ticket in self._held if ticket not in self._outcomes]
            self._outcomes.update(dict.fromkeys(let_go, outcome))
            for ticket in let_go:
                del self._held[ticket]
            self._changed.notify_all()
            return len(let_go)

    def changed(self) -> None:
        """Tells those who wait to look again."""
        with self._changed:
            self._changed.notify_all()

    def wait_until(self, so: Callable[[], bool], timeout_s: float) -> bool:
        """Waits until it is so, at most `timeout_s` seconds; whether it is."""
        with self._changed:
            return (
                self._changed.wait_for(lambda: self._stopped.is_set() or so(), timeout_s) and so()
            )

    def pause(self, seconds: float) -> None:
        """Sleeps, but not beyond the end of the sandbox."""
        if seconds > 0:
            self._stopped.wait(seconds)

    def stop(self) -> None:
        """Lets go of everything, for good."""
        self._stopped.set()
        self.changed()
