"""The rejected rows of an import as a CSV file, to be mended and imported again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType

from subscribers.files.atomic_file import file_to_write
from subscribers.files.safe_csv import csv_line
from subscribers.importing.file_format.validate_row import LeftOut

HEADER = csv_line("line", "email", "reason")


class RejectsFile:
    """
    A CSV file `line,email,reason`, in UTF-8. A context manager.

    It takes its name only when the import has succeeded; a failed import leaves what was there.
    Raises `OSError` if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> RejectsFile:
        self._place = file_to_write(self.path)
        descriptor, name = tempfile.mkstemp(dir=self._place.parent, prefix=".rejects-")
        self._unfinished = Path(name)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", newline="")
        self._file.write(HEADER)
        return self

    def write(self, row: LeftOut) -> None:
        """Add one row."""
        self._file.write(line_of(row))

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        try:
            self._file.close()
            if kind is None:
                self._unfinished.replace(self._place)
        finally:
            self._unfinished.unlink(missing_ok=True)


def line_of(row: LeftOut) -> str:
    """One rejected row as a line of the file."""
    return csv_line(row.line, row.email, row.reason)
