"""The rejected rows of an import as a CSV file, to be mended and imported again."""

from __future__ import annotations

import csv
import os
import tempfile
from pathlib import Path
from types import TracebackType

from subscribers.importing.report import LeftOut

HEADER = ("line", "email", "reason")
# A spreadsheet takes a cell that starts like this for a formula and runs it. An apostrophe in
# front makes it text (OWASP, “CSV Injection”).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class RejectsFile:
    """
    A CSV file `line,email,reason`, in UTF-8. A context manager.

    It takes its name only when the import has succeeded; a failed import leaves what was there.
    Raises `OSError` if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> RejectsFile:
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=".rejects-")
        self._unfinished = Path(name)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", newline="")
        self._csv = csv.writer(self._file)
        self._csv.writerow(HEADER)
        return self

    def write(self, row: LeftOut) -> None:
        """Add one row."""
        self._csv.writerow((row.line, as_text(row.email), as_text(row.reason)))

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            self._unfinished.replace(self.path)
        else:
            self._unfinished.unlink()


def as_text(value: str) -> str:
    """The value so that no spreadsheet runs it as a formula."""
    return f"'{value}" if value.startswith(FORMULA_STARTS) else value
