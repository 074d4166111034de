"""The progress of a command, on its standard error."""

import time

from django.core.management.base import OutputWrapper

LINE_EVERY_S = 5.0
CLEAR = "\r\x1b[K"


class ProgressLine:
    """One changing line on a terminal; elsewhere a plain line every few seconds."""

    def __init__(self, output: OutputWrapper) -> None:
        self._output = output
        self._is_terminal = output.isatty()
        self._written_at_s = time.monotonic()

    def show(self, line: str) -> None:
        """Show how far the command has got."""
        if self._is_terminal:
            # With the style `str`, the line is not red like an error.
            self._output.write(f"{CLEAR}{line}", str, ending="")
            self._output.flush()
        elif time.monotonic() - self._written_at_s >= LINE_EVERY_S:
            self._written_at_s = time.monotonic()
            self._output.write(line)

    def clear(self) -> None:
        """Remove the line from a terminal, before other output."""
        if self._is_terminal:
            self._output.write(CLEAR, str, ending="")
