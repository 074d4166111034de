"""
From a file to rows: the only place that knows CSV.

A file that is no readable CSV is refused as a whole with `UnreadableFileError`; a single row that
cannot be understood becomes a `BadRow` and the others go on. Memory stays the same however long
the file is: lines, rows and fields are all bounded.

A quotation mark that is never closed would swallow the rows after it, up to the end of the file.
So a row may span a few lines only; when it does not end in time, or ends in a way that makes no
sense, its first line is reported as bad and reading starts again at the next line.
"""

from __future__ import annotations

import csv
import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from subscribers.models.left_out_row import LONGEST_EXCERPT

LONGEST_LINE = 64 * 1024  # bytes; a line of a real list has a hundred or two
MOST_LINES_IN_A_ROW = 40  # somebody's address or remark in quotation marks, with room
_PIECE = 1024 * 1024  # bytes read at once for the content hash


class UnreadableFileError(Exception):
    """The file as a whole cannot be imported. Its text is one sentence for the importer."""


class Row(NamedTuple):
    """What the file says about one reader, not yet judged. `line`: where it starts, from 1."""

    line: int
    email: str
    name: str


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be understood. `excerpt`: the start of what stands there."""

    line: int
    excerpt: str
    reason: str


class ReaderFile:
    """A CSV file of readers. Use it as a context manager; then `content_hash`, `size`, `rows()`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0

    def __enter__(self) -> ReaderFile:
        try:
            self._file: BinaryIO = self.path.open("rb")
        except OSError as error:
            raise UnreadableFileError(f"{self.path} cannot be opened: {error.strerror}.") from error
        try:
            found = os.fstat(self._file.fileno())
            # A pipe can be read only once, and the content hash needs a reading of its own.
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableFileError(
                    f"{self.path} is not a file; save the list as a file first."
                )
            self.size = found.st_size
            self.content_hash = self._hash_of_content()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def rows(self) -> Iterator[Row | BadRow]:
        """
        The rows in the order of the file, without the header and without blank rows.

        Raises `UnreadableFileError` as soon as the file turns out to be none that can be imported.
        """
        lines = _Lines(self)
        reader = csv.reader(lines, strict=True)
        columns: _Columns | None = None
        while True:
            lines.start_row()
            try:
                fields = next(reader)
            except StopIteration:
                break
            except (csv.Error, _EndlessRowError) as error:
                if columns is None:
                    raise UnreadableFileError(_no_header(lines.of_this_row[0])) from error
                yield lines.give_up(_why(error))
                continue
            if not any(map(str.strip, fields)):
                continue
            if columns is None:
                columns = _Columns.named_in(fields)
                continue
            yield columns.row(fields, lines)
        if columns is None:
            raise UnreadableFileError("The file is empty; its first line must be: email,name")
        if lines.digest() != self.content_hash:
            raise UnreadableFileError("The file changed while it was read; import it again.")

    def read_line(self, number: int) -> bytes:
        """The next line as it stands, empty at the end of the file."""
        line = self._file.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise UnreadableFileError(
                f"Line {number} is longer than {LONGEST_LINE:,} bytes; a CSV file with one reader "
                "in each line is expected."
            )
        self.bytes_read += len(line)
        return line

    def _hash_of_content(self) -> bytes:
        digest = hashlib.sha256()
        while piece := self._file.read(_PIECE):
            digest.update(piece)
        self._file.seek(0)
        return digest.digest()


class _EndlessRowError(Exception):
    """A row spans more lines than any real one."""


class _Lines:
    """
    The lines of a file as `csv.reader` takes them, counted, and able to be taken back.

    A line is text in UTF-8 with its line break; the mark at the start of a file is left out.
    """

    def __init__(self, file: ReaderFile) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._taken_back: deque[str] = deque()
        self._read_from_file = 0
        self.of_this_row: list[str] = []
        self.number = 0  # of the line last handed out
        self.first = 1  # of the first line of this row

    def start_row(self) -> None:
        """The next line is the first one of a row."""
        self.of_this_row = []
        self.first = self.number + 1

    def give_up(self, reason: str) -> BadRow:
        """This row is bad as far as its first line; the lines after it are read afresh."""
        bad, *rest = self.of_this_row
        self._taken_back.extendleft(reversed(rest))
        self.number -= len(rest)
        return BadRow(self.first, excerpt(bad), reason)

    def digest(self) -> bytes:
        """SHA-256 of what was read from the file so far."""
        return self._hash.digest()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._taken_back.popleft() if self._taken_back else self._read()
        self.number += 1
        self.of_this_row.append(line)
        if len(self.of_this_row) > MOST_LINES_IN_A_ROW:
            raise _EndlessRowError
        return line

    def _read(self) -> str:
        number = self._read_from_file + 1
        line = self._file.read_line(number)
        if not line:
            raise StopIteration
        self._read_from_file = number
        self._hash.update(line)
        if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UnreadableFileError(
                "The file is in UTF-16; save it as “CSV UTF-8” and import it again."
            )
        if b"\0" in line:
            raise UnreadableFileError(
                f"Line {number} contains a NUL byte; a text file is expected."
            )
        try:
            return line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UnreadableFileError(
                f"Line {number} is not in UTF-8; save the file as “CSV UTF-8” and import it again."
            ) from error


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the header says that address and name stand."""

    count: int
    email: int
    name: int | None

    @classmethod
    def named_in(cls, header: list[str]) -> _Columns:
        """The columns that the header names, in any order and case."""
        names = [name.strip().casefold() for name in header]
        if "email" not in names:
            raise UnreadableFileError(_no_header(",".join(header)))
        for wanted in ("email", "name"):
            if names.count(wanted) > 1:
                raise UnreadableFileError(
                    f"The first line names two columns “{wanted}”; keep one of them."
                )
        return cls(
            len(names), names.index("email"), names.index("name") if "name" in names else None
        )

    def row(self, fields: list[str], lines: _Lines) -> Row | BadRow:
        """The row that these fields make."""
        email = fields[self.email] if self.email < len(fields) else ""
        name = fields[self.name] if self.name is not None and self.name < len(fields) else ""
        if any("\n" in field.strip() and "@" in field for field in fields):
            # Hardly one field: rather the rows of other readers, who would be lost unnoticed.
            return lines.give_up("A quotation mark is opened here and closed in another row.")
        if any(map(str.strip, fields[self.count :])):
            return BadRow(
                lines.first,
                excerpt(email),
                f"The row has {len(fields)} columns instead of {self.count}; a comma inside a "
                "field needs quotation marks around the field.",
            )
        return Row(lines.first, email, name)


def excerpt(text: str) -> str:
    """The start of `text` for a report: in one line and without control characters."""
    start = text.strip()[:LONGEST_EXCERPT]
    return "".join(character if character.isprintable() else "\ufffd" for character in start)


def _no_header(found: str) -> str:
    return (
        "The first line must name the columns, separated by commas, one of them “email”, such as "
        f"email,name; found: {excerpt(found)[:80] or 'nothing'}"
    )


def _why(error: Exception) -> str:
    """What is wrong with a row, in words that do not need the csv module's."""
    said = str(error)
    if "field limit" in said:
        return "A field is too long."
    if "new-line" in said:
        return "A line break of an unknown kind stands in the middle of the row."
    if isinstance(error, _EndlessRowError) or "end of data" in said:
        return "A quotation mark is opened here and never closed."
    return "A quotation mark stands inside a field; there it must be doubled."
