"""Let one idle thread of a group poll the database for the whole group."""

import threading
from collections.abc import Callable, Collection

from delivery.provider.deadline_clock import now_s

# For this many seconds after a poll found due work, each thread for that work polls separately. A
# rate limit may delay the work, or another worker may claim it.
DUE_FOR_S = 5.0


class SharedPoll:
    """A poll for the idle threads of a group: only one of them polls at a time.

    `look()` queries the database and returns the names of the work that is due. `look()` runs in
    the thread that polls, with the connection of that thread. `pause()` waits for the next poll, or
    until the worker stops.
    """

    def __init__(
        self,
        look: Callable[[], Collection[str]],
        *,
        is_stopping: Callable[[], bool],
        pause: Callable[[], object],
    ) -> None:
        self._look = look
        self._is_stopping = is_stopping
        self._pause = pause
        self._changed = threading.Condition()
        self._is_polling = False
        self._due: Collection[str] = ()
        self._due_until_s = 0.0

    def wait(self, name: str) -> None:
        """Return when work of this name may be due, or when the worker stops.

        Raises the error of `look`. After an error, another thread polls.
        """
        if self._is_known_due(name):
            self._pause()
            return
        while self._awaits_turn(name):
            try:
                due = self._look()
                with self._changed:
                    self._due, self._due_until_s = due, now_s() + DUE_FOR_S
                    if name in due:
                        return
                self._pause()
            finally:
                with self._changed:
                    self._is_polling = False
                    self._changed.notify_all()

    def wake(self) -> None:
        """Let every thread return, because the worker stops."""
        with self._changed:
            self._changed.notify_all()

    def _awaits_turn(self, name: str) -> bool:
        """Wait until this thread polls; False if its work is due or the worker stops."""
        with self._changed:
            while not (self._is_stopping() or self._is_known_due(name)):
                if not self._is_polling:
                    self._is_polling = True
                    return True
                self._changed.wait()
            return False

    def _is_known_due(self, name: str) -> bool:
        return name in self._due and now_s() < self._due_until_s
