"""Write the demo's steps and progress for the person who watches."""

from __future__ import annotations

import time
from typing import TextIO

LINE_EVERY_S = 5.0
CLEAR_LINE = "\r\x1b[K"


class Console:
    """Writes progress in place on a terminal, and as plain lines elsewhere."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._is_terminal = output.isatty()
        self._began_at = self._progress_at = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the demo began."""
        return time.monotonic() - self._began_at

    def step(self, text: str) -> None:
        """Write a finished step with its time."""
        self.show(f"{self.seconds:5.1f} s  {text}")

    def progress(self, text: str) -> None:
        """Write progress: one line that changes, or a line every few seconds."""
        if self._is_terminal:
            self._write(f"{CLEAR_LINE}{self.seconds:5.1f} s  {text}")
        elif time.monotonic() - self._progress_at >= LINE_EVERY_S:
            self._progress_at = time.monotonic()
            self.step(text)

    def show(self, text: str) -> None:
        """Write one line or several."""
        self._write(f"{CLEAR_LINE if self._is_terminal else ''}{text}\n")

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()
