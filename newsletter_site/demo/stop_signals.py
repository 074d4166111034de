"""
The only place for the signals that end the demo.

A signal only leaves a mark; the demo looks at it between its steps. So nothing is ever broken off
in the middle, above all not the starting of a database server.
"""

from __future__ import annotations

import signal
import time
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_S = 0.1


class StoppedError(Exception):
    """Somebody asked the demo to end."""


class Stopping:
    """Whether somebody asked the demo to end, and whether they asked twice."""

    def __init__(self) -> None:
        self.signal = 0
        self.asked_twice = False

    def listen(self) -> None:
        """From now on signals leave a mark, until the process is gone."""
        for number in SIGNALS:
            # Under nohup the end of the terminal is to be ignored, and stays so.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.asked_twice = bool(self.signal)
        self.signal = self.signal or number

    def look(self) -> None:
        """Raise `StoppedError` if somebody asked."""
        if self.signal:
            raise StoppedError

    def pause(self) -> None:
        """A moment between two looks at something that takes time."""
        self.look()
        time.sleep(POLL_S)
        self.look()

    @property
    def exit_code(self) -> int:
        """What a shell expects of a program that a signal ended."""
        return 128 + self.signal
