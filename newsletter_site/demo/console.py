"""Write the demo's steps and progress for the person who watches."""

import time

from django.core.management.base import OutputWrapper

from delivery.progress_line import ProgressLine


class Console:
    """Writes steps with the time that has passed."""

    def __init__(self, output: OutputWrapper) -> None:
        self._output = output
        self._progress = ProgressLine(output)
        self._began_at = time.monotonic()

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
