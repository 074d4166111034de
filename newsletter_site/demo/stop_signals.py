"""Signals that end the demo between its steps, so that none is broken off in the middle."""

import signal
import time
from types import FrameType

POLL_S = 0.1


class StoppedError(Exception):
    """The demo was asked to end."""


class StopSignals:
    """Whether the demo was asked to end, and whether it was asked twice."""

    def __init__(self) -> None:
        self.number = 0
        self.asked_twice = False

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup ignores SIGHUP, and that stays.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked_twice = bool(self.number)
        self.number = self.number or number

    def check(self) -> None:
        """Raise `StoppedError` if the demo was asked to end."""
        if self.number:
            raise StoppedError

    def pause(self) -> None:
        """Wait a moment, unless the demo was asked to end."""
        self.check()
        time.sleep(POLL_S)
        self.check()
