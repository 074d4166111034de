"""The demo's errors, and its terminal, which shows steps and receives signals."""

import signal
import time

from django.core.management.base import CommandError, OutputWrapper

from delivery.progress_line import ProgressLine

POLL_S = 0.1


class DemoError(CommandError):
    """The demo cannot continue; the error's text says why and what to do."""


class StoppedError(Exception):
    """The demo was asked to end."""


class Terminal:
    """Write steps with the elapsed time, and collect signals.

    The first signal ends the demo after the current step. The second signal kills the demo's
    processes.
    """

    def __init__(self, output: OutputWrapper) -> None:
        self.signals: list[int] = []
        self._output = output
        self._progress = ProgressLine(output)
        self._began_at = time.monotonic()

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup makes the process ignore SIGHUP, and the demo must not change that.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda number, _: self.signals.append(number))

    def check(self) -> None:
        """Raise `StoppedError` if the demo was asked to end."""
        if self.signals:
            raise StoppedError

    def pause(self) -> None:
        """Wait a moment, unless the demo was asked to end."""
        self.check()
        time.sleep(POLL_S)
        self.check()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began_at

    def step(self, text: str) -> None:
        self.show(f"{self.seconds:5.1f} s  {text}")

    def progress(self, text: str) -> None:
        self._progress.show(f"{self.seconds:5.1f} s  {text}")

    def show(self, text: str) -> None:
        self._progress.clear()
        self._output.write(text)
        self._output.flush()
