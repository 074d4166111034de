"""
From a file to rows: opens it, finds out how it is written, and reads it.

What is found out comes from the bytes alone (`encoding`, `delimiter`, `columns`), so the same file
gives the same rows in the same order always. A row that cannot be understood becomes a `BadRow`
and costs nobody but itself; a file that is no list is refused with `UnreadableFileError`. Memory
stays the same however long the file is: lines, rows and fields are all bounded.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from subscribers.address import Refusal
from subscribers.importing.file_format.columns import Layout, Mapping, layout_of
from subscribers.importing.file_format.delimiter import WORDS, delimiter_of, stated_in
from subscribers.importing.file_format.description import (
    Description,
    column_in_words,
    doubt_about,
    unused_in_words,
)
from subscribers.importing.file_format.encoding import Survey
from subscribers.importing.file_format.header_words import key
from subscribers.importing.file_format.lines import LONGEST_LINE, Watched, line_end, lines_of
from subscribers.importing.file_format.not_a_csv import (
    UnreadableFileError,
    refuse_other_formats,
    without_addresses,
)
from subscribers.importing.file_format.records import MOST_LINES_IN_A_ROW, BadRow, excerpt, records
from subscribers.importing.file_format.status import Stated

__all__ = [
    "LONGEST_LINE",
    "MOST_LINES_IN_A_ROW",
    "BadRow",
    "ReaderFile",
    "Row",
    "UnreadableFileError",
    "excerpt",
]

_PIECE = 1024 * 1024  # bytes read at once for the content hash
# The sample by which a file is understood: so many lines with something in them, and bounds for
# files that begin with something else.
_LINES_THAT_SAY = 300
_MOST_LINES = 10_000
_MOST_CHARACTERS = 2_000_000
_MOST_WITH_ACCENTS = 3  # rows shown
_SHOWN = 60  # characters of a file that is refused


class Row(NamedTuple):
    """
    What the file says about one reader, not yet judged. `line`: where it starts, from 1.
    `stated`: their status, None if the file has none.
    """

    line: int
    email: str
    name: str
    stated: Stated | None = None


class ReaderFile:
    """
    A file of readers: a path, or a binary file that can be read from any place, such as an upload.

    `filename` matters where a product puts the status into it; `mapping` says by hand which column
    is what. Use it as a context manager; then there are `content_hash`, `import_hash`, `size` and
    `description`, and `rows()` can be read as often as wanted. `bytes_read` says how far that is.
    A file that was handed over stays open. Raises `UnreadableFileError` if the file is none that
    can be imported.
    """

    def __init__(self, source: Path | BinaryIO, filename: str = "", mapping: Mapping = ()) -> None:
        self.source = source
        self.filename = filename
        self.mapping = mapping
        self.size = 0  # bytes
        self.content_hash = b""
        self._reading: Watched | None = None
        self._stack = ExitStack()

    def __enter__(self) -> ReaderFile:
        with ExitStack() as stack:
            self._file: BinaryIO = (
                stack.enter_context(_opened(self.source))
                if isinstance(self.source, Path)
                else self.source
            )
            self._survey()
            self._understand(*self._sample())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def import_hash(self) -> bytes:
        """
        What makes an import the same: the content, and how its columns and statuses are read.

        A release that does not read statuses has another hash for such a file. So its workers
        refuse it, and what it imported can be imported again.
        """
        status = self._layout.status
        if not self.mapping and status is None:
            return self.content_hash
        read_as = [
            [(key(column), field) for column, field in self.mapping],
            [status.product, str(status.silence)] if status else None,
        ]
        return hashlib.sha256(self.content_hash + json.dumps(read_as).encode()).digest()

    @property
    def bytes_read(self) -> int:
        """Of the last reading of rows; some thousand bytes ahead of the row."""
        return self._reading.bytes_read if self._reading else 0

    def rows(self) -> Iterator[Row | BadRow]:
        """
        The rows in the order of the file, without the header and without blank rows.

        Raises `UnreadableFileError` at the end if the file changed since it was opened.
        """
        watched = self._reading = Watched(self._file)
        layout, top = self._layout, max(self._layout.header_line, self._separator_line)
        width, address, names, status = layout.width, layout.address, layout.names, layout.status
        name_column = names[0] if len(names) == 1 else None
        for record in records(lines_of(watched, self._encoding), self._delimiter):
            if isinstance(record, BadRow):
                yield record
                continue
            line, fields = record
            if line <= top:
                if self._separator_line < line < top:
                    yield BadRow(line, excerpt(" ".join(fields)), "The row is above the header.")
                continue
            count = len(fields)
            email = fields[address] if address < count else ""
            if count > width and any(map(str.strip, fields[width:])):
                stated = status.of(fields) if status else None
                if isinstance(stated, Stated) and stated.status.is_gone:
                    yield Row(line, email, "", stated)
                else:
                    yield BadRow(line, excerpt(email), self._too_many(count))
            elif email.strip() or any(map(str.strip, fields)):
                if name_column is None:
                    name = layout.name_in(fields)
                else:
                    name = fields[name_column] if name_column < count else ""
                if status is None:
                    yield Row(line, email, name)
                    continue
                stated = status.of(fields)
                if isinstance(stated, Refusal):
                    yield BadRow(line, excerpt(email), stated.reason)
                else:
                    yield Row(line, email, name, stated)
        if watched.digest() != self.content_hash:
            raise UnreadableFileError("The file changed while it was read; import it again.")

    def _survey(self) -> None:
        """Read all of it once, for its hash, its size and its encoding."""
        digest, survey, size = hashlib.sha256(), Survey(), 0
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            if not size:
                refuse_other_formats(piece)
            size += len(piece)
            digest.update(piece)
            survey.look_at(piece)
        self.size, self.content_hash = size, digest.digest()
        self._encoding = survey.encoding()
        self._doubt = doubt_about(self._encoding, is_contradicted=survey.contradicts_windows_1252)

    def _sample(self) -> tuple[int, list[str]]:
        """How many blank lines there are at the start, and the first lines after them."""
        sample: list[str] = []
        blank = saying = characters = 0
        for line in lines_of(Watched(self._file), self._encoding):
            if not sample and line.isspace():
                blank += 1
                continue
            sample.append(line)
            saying += not line.isspace()
            characters += len(line)
            if (
                saying == _LINES_THAT_SAY
                or len(sample) == _MOST_LINES
                or characters > _MOST_CHARACTERS
            ):
                break
        return blank, sample

    def _understand(self, blank: int, sample: list[str]) -> None:
        stated = stated_in(sample[0]) if sample else None
        self._separator_line = blank + 1 if stated else 0
        self._delimiter = stated or delimiter_of(sample)
        found = [
            (blank + record[0], record[1])
            for record in records(iter(sample), self._delimiter)
            if not isinstance(record, BadRow)
            and blank + record[0] > self._separator_line
            and any(map(str.strip, record[1]))
        ]
        layout = layout_of(found, self.mapping, self.filename)
        if layout is None:
            text = "".join(sample)
            raise without_addresses(text, excerpt(text)[:_SHOWN])
        self._layout = layout
        below = [fields for line, fields in found if line > layout.header_line]
        self.description = self._describe(layout, below, sample)

    def _describe(self, layout: Layout, below: list[list[str]], sample: list[str]) -> Description:
        columns = max([layout.width, *map(len, below)])
        ends = dict.fromkeys(filter(None, map(line_end, sample)))
        rows = [
            (excerpt(fields[layout.address]), excerpt(" ".join(layout.name_in(fields).split())))
            for fields in below
            if layout.address < len(fields)
        ]
        return Description(
            encoding=self._encoding.words,
            delimiter="one column" if columns == 1 else WORDS[self._delimiter],
            has_header=bool(layout.header_line),
            line_ends=" and ".join(ends),
            address_column=column_in_words(layout, layout.address),
            name_columns=tuple(column_in_words(layout, column) for column in layout.names),
            unused_columns=unused_in_words(layout),
            first_row=rows[0] if rows else None,
            with_accents=self._with_accents(rows),
            doubt=self._doubt,
            product=layout.status.product if layout.status else "",
            status_columns=tuple(
                column_in_words(layout, column)
                for column in (layout.status.columns if layout.status else ())
            ),
            hidden=layout.status.hidden if layout.status else "",
        )

    def _with_accents(self, sample: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Further rows whose names show whether the encoding is right, be they far down."""
        found = (row for row in sample[1:] if not row[1].isascii())
        if self._doubt and all(name.isascii() for _, name in sample):
            found = (
                (excerpt(row.email), excerpt(" ".join(row.name.split())))
                for row in self.rows()
                if isinstance(row, Row) and not row.name.isascii()
            )
        rows = tuple(islice(found, _MOST_WITH_ACCENTS))
        self._reading = None
        return rows

    def _too_many(self, count: int) -> str:
        delimiter = WORDS[self._delimiter].removesuffix("s")
        return (
            f"The row has {count} columns instead of {self._layout.width}; a {delimiter} inside a "
            "field needs quotation marks around the field."
        )


def _opened(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
    except OSError as error:
        raise UnreadableFileError(f"{path} cannot be opened: {error.strerror}.") from error
    # A pipe can be read only once, and the content hash needs a reading of its own.
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise UnreadableFileError(f"{path} is not a file; save the list as a file first.")
    return file
