"""The only place that writes for the person who watches: steps with their time, and progress."""

from __future__ import annotations

import time
from typing import TextIO

LINE_EVERY_S = 5.0
CLEAR_LINE = "\r\x1b[K"


class Screen:
    """Writes to `output`; in place where a terminal watches, else in plain lines."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._in_place = output.isatty()
        self._begun = time.monotonic()
        self._last_progress_at = self._begun

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._begun

    def step(self, text: str) -> None:
        """Something was done."""
        self.show(self._timed(text))

    def progress(self, text: str) -> None:
        """How far something is: the same line again and again, or a line every few seconds."""
        if self._in_place:
            self._write(CLEAR_LINE + self._timed(text))
        elif time.monotonic() - self._last_progress_at >= LINE_EVERY_S:
            self._last_progress_at = time.monotonic()
            self.step(text)

    def show(self, text: str) -> None:
        """One line or several."""
        self._write(f"{CLEAR_LINE}{text}\n" if self._in_place else f"{text}\n")

    def _timed(self, text: str) -> str:
        return f"{self.seconds:5.1f} s  {text}"

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()
