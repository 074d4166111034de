"""Read the rows of a file in constant memory; reading again yields the same rows."""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as Map
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from django.utils.translation import gettext_noop

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.reader_fields import READER_FIELDS
from subscribers.files.safe_csv import unguarded
from subscribers.importing.file_format.date_cell import DateForm, FormOfColumn
from subscribers.importing.file_format.detect_encoding import WINDOWS_1252, EncodingDetector
from subscribers.importing.file_format.header_words import key
from subscribers.importing.file_format.lost_values import LostValues
from subscribers.importing.file_format.not_a_csv import (
    UnreadableFileError,
    refuse_other_formats,
    without_addresses,
)
from subscribers.importing.file_format.recognise_columns import (
    DELIMITERS,
    EMAIL,
    SINCE,
    Fields,
    Layout,
    Mapping,
    Reading,
    detect_delimiter,
    layout_of,
    stated_delimiter,
)
from subscribers.importing.file_format.split_lines import HashingReader, line_end, lines_of
from subscribers.importing.file_format.split_records import BadRow, Cells, excerpt, records
from subscribers.importing.file_format.status_columns import (
    UNREADABLE_DATE,
    RowStatus,
    Status,
    is_word,
    said_by_name,
)
from subscribers.importing.file_format.yes_or_no import Answer
from subscribers.refusal_sentences import InputRefusal, refuse

_PIECE = 1024 * 1024  # bytes read at once for the content hash
# These numbers limit the sample of lines from which the layout of a file is found.
_FILLED_LINES = 300
_MOST_LINES = 10_000
_MOST_CHARACTERS = 2_000_000
_MOST_WITH_ACCENTS = 3  # the page shows this number of rows with accents
_SHOWN = 60  # characters that are shown of a header or of a refused file
_MAX_UNUSED = 12  # the page names this number of unused columns; a file may have thousands
MOST_COLUMNS = 100  # an author can map this number of columns on the page
_SAMPLES, _LONGEST_SAMPLE = 3, 80
LONGEST_CONSENT = 1_000  # characters
IN_FRONT = ("line", "reason")  # in a file of rejected rows, these columns come first
# A function that finds how a file was read, from the file of its rejected rows. The function takes
# the header of the file of rejected rows, the line numbers of some of its rows, and its name. The
# function returns how the file was read (the `Reading`), and its mapping.
FindReading = Callable[[Sequence[str], Sequence[int], str], tuple[Reading, Mapping] | None]


class Row(NamedTuple):
    """One reader's row. `line` counts from 1; `since` is in UTC.

    At first, a `Row` has the texts of the file's cells. `validate_row` replaces these texts by
    valid values, and a cell of tags by the names in the cell.
    """

    line: int
    email: str
    values: tuple[str, ...]  # values of the readers' fields, in the order of the fields
    status: RowStatus | None = None
    tags: tuple[str, ...] = ()
    left_topics: tuple[str, ...] = ()
    since: datetime | None = None
    lost_date: str = ""  # the cell's text if its date cannot be read
    consent: str = ""  # the notes on consent
    # Each answer has three parts: a tag, what the row says about this tag, and whether it is
    # chosen.
    answers: tuple[tuple[str, Answer, bool], ...] = ()
    cells: Cells = ()


@dataclass(frozen=True, slots=True)
class Description:
    """How a file is read, stored as JSON. import_sentences.py explains it in words."""

    encoding: str = ""
    delimiter: str = ""
    has_header: bool = False
    line_ends: str = ""
    used_columns: Map[str, Sequence[str]] = field(default_factory=dict)  # names of columns by use
    unused_columns: Sequence[str] = ()
    examples: Sequence[str] = ()
    encoding_warning: str = ""
    product: str = ""
    hidden: str = ""
    offers: Map[str, str] = field(default_factory=dict)  # offered tags by the column's number
    posts: int = 0  # number of posts in the same ZIP file
    doubts: Sequence[str] = ()  # columns of statuses that are not read as statuses
    field_labels: Map[str, str] = field(default_factory=dict)
    # The first columns. Each column has three parts: its name, its use (empty if the column is not
    # read), and some of its values.
    columns: Sequence[tuple[str, str, Sequence[str]]] = ()
    seconds: Sequence[Map[str, Any]] = ()  # ignored columns, as `SecondColumn`
    lost: Sequence[Map[str, Any]] = ()  # lost values, counted when the rows are read
    reading: Map[str, Any] | None = None  # a `Reading`, for its rejected rows

    @classmethod
    def from_json(cls, stored: Map[str, Any] | None) -> Self:
        """Read a stored description, if any; unknown keys of other releases are ignored."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in (stored or {}).items() if name in known})


class ReaderFile:
    """The rows of readers in a regular file or an open upload."""

    def __init__(
        self,
        source: Path | BinaryIO,
        filename: str = "",
        mapping: Mapping = (),
        fields: Fields = READER_FIELDS,
        find_reading: FindReading = lambda *_: None,
    ) -> None:
        self.source = source
        self.filename = filename
        self.mapping = mapping
        self.fields = fields
        self._find_reading = find_reading
        self._reading_before: Reading | None = None  # how the original file was read
        self.size = 0  # bytes
        self.content_hash = b""
        self.lost = LostValues()
        self._reading: HashingReader | None = None
        self._forms: Map[int, DateForm] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.content: BinaryIO = (
                stack.enter_context(open_regular_file(self.source))
                if isinstance(self.source, Path)
                else self.source
            )
            self._read_once()
            self._detect_layout(*self._sample())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def import_hash(self) -> bytes:
        """Return a hash of the content and the columns' uses, which identifies an import."""
        status = self._layout.status
        before = self._reading_before
        if not self.mapping and status is None and before is None:
            return self.content_hash
        read_as = [
            [(key(column), field) for column, field in self.mapping],
            [status.product, str(status.silence)] if status else None,
            *([before.said, before.is_guess] if before else ()),
        ]
        return hashlib.sha256(self.content_hash + json.dumps(read_as).encode()).digest()

    @property
    def has_statuses(self) -> bool:
        """Return whether the file has a status for its rows."""
        return self._layout.status is not None

    def leaves_subscriptions_open(self) -> bool:
        """Return whether any row has a status that says nothing about the subscription."""
        rows = self.rows() if self.has_statuses else ()
        statuses = (row.status for row in rows if isinstance(row, Row))
        return any(one.status is Status.UNSTATED for one in statuses if one)

    @property
    def bytes_read(self) -> int:
        return self._reading.bytes_read if self._reading else 0

    def rows(self) -> Iterator[Row | BadRow]:
        """Yield the rows. At the end, raise `UnreadableFileError` if the file has changed."""
        if self._forms is None:
            self._forms = self._find_forms()
        self.lost = LostValues()
        reader = self._reading = HashingReader(self.content)
        layout, top = self._layout, self._top
        width, address, status = layout.width, layout.address, layout.status
        delimiter = DELIMITERS[self._delimiter].removesuffix("s")
        # Fields with one column get a fast path: few fields have two columns, and a file may have
        # millions of rows.
        has_others = bool(layout.others)
        singles = [columns[0] for columns in layout.fields.values() if len(columns) == 1]
        are_single = len(singles) == len(layout.fields)
        for record in self._records(lines_of(reader, self._encoding)):
            if isinstance(record, BadRow):
                yield record
                continue
            line, fields = record
            if line <= top:
                if self._separator_line < line < top:
                    text = excerpt(" ".join(fields))
                    yield BadRow(line, text, refuse("row_above_header"), fields)
                continue
            count = len(fields)
            email = fields[address] if address < count else ""
            if count > width and any(map(str.strip, fields[width:])):
                row_status = status.of(fields) if status else None
                if isinstance(row_status, RowStatus) and row_status.status.is_gone:
                    self._note_lost_date_of_leaving(line, fields, row_status)
                    yield Row(line, email, layout.values_in(()), row_status, cells=fields)
                else:
                    numbers = {"columns": count, "expected": width}
                    why = refuse("row_too_long", **numbers, delimiter=delimiter)
                    yield BadRow(line, excerpt(email), why, fields)
            elif email.strip() or any(map(str.strip, fields)):
                row_status = status.of(fields) if status else None
                if isinstance(row_status, InputRefusal):
                    yield BadRow(line, excerpt(email), row_status, fields)
                    continue
                values = (
                    tuple([fields[at] if at < count else "" for at in singles])
                    if are_single
                    else layout.values_in(fields)
                )
                answers = tuple((one.tag, one.read(fields), one.is_chosen) for one in layout.tags)
                row = Row(line, email, values, row_status, answers=answers, cells=fields)
                if row_status is not None and row_status.status.is_gone:
                    self._note_lost_date_of_leaving(line, fields, row_status)
                elif has_others:
                    row = self._with_others(row)
                yield row
        if reader.digest() != self.content_hash:
            raise UnreadableFileError("file_changed")

    @property
    def _top(self) -> int:
        return max(self._layout.header_line, self._separator_line)

    @property
    def forms(self) -> dict[str, tuple[str | None, str | None]]:
        """Return the form of the dates in each column, found from all rows.

        Read all rows before calling this.
        """
        return {str(at): (one.order, one.number) for at, one in (self._forms or {}).items()}

    def _records(self, lines: Iterator[str]) -> Iterator[tuple[int, list[str]] | BadRow]:
        """Yield the rows, without the columns that Homing adds in front of rejected rows."""
        found = records(lines, self._delimiter)
        if self._reading_before is None:
            return found
        return (one if isinstance(one, BadRow) else _without_front(*one) for one in found)

    def _find_forms(self) -> dict[int, DateForm]:
        """Read all dates to find each column's form, because one row may decide it."""
        now = datetime.now(UTC)
        columns = self._layout.columns_of.get(SINCE, ())
        found = [(at, FormOfColumn(now)) for at in columns]
        if found:
            lines = lines_of(HashingReader(self.content), self._encoding)
            for record in self._records(lines):
                if not isinstance(record, BadRow) and record[0] > self._top:
                    cells = record[1]
                    for at, form in found:
                        if at < len(cells):
                            form.see(cells[at])
        known = (self._reading_before and self._reading_before.forms) or {}
        forms = dict[int, DateForm]()
        for at, column in found:
            proved = column.form()
            order, number = known.get(str(at), (proved.order, proved.number))
            forms[at] = replace(proved, order=order, number=number)
        return forms

    def _with_others(self, row: Row) -> Row:
        """Add the tags, the date of sign-up and the notes on consent to a row."""
        layout, cells = self._layout, row.cells
        tags, left_topics, dated, consent = (
            {at: cells[at] for at in columns if at < len(cells) and cells[at].strip()}
            for columns in layout.others.values()
        )
        since, lost = None, ""
        for at, cell in dated.items():
            if layout.status and at in layout.status.columns and is_word(cell):
                continue
            found = self._forms[at].read(cell) if self._forms else None
            if isinstance(found, datetime):
                since, lost = found, ""
                break
            if found is not None:
                self.lost.add(_column_name(layout, at), found, row.line, cell.strip())
                lost = lost or excerpt(cell)[:_LONGEST_SAMPLE]
        notes = [CONTROL_CHARACTERS.sub(" ", unguarded(note)) for note in consent.values()]
        return row._replace(
            tags=tuple(tags.values()),
            left_topics=tuple(left_topics.values()),
            since=since,
            lost_date=lost,
            consent="; ".join(" ".join(note.split()) for note in notes)[:LONGEST_CONSENT].strip(),
        )

    def _note_lost_date_of_leaving(self, line: int, fields: list[str], status: RowStatus) -> None:
        if status.left_at != UNREADABLE_DATE or self._layout.status is None:
            return
        for at, cell in self._layout.status.unreadable_dates(fields):
            self.lost.add(_column_name(self._layout, at), "left", line, cell)

    def _read_once(self) -> None:
        digest, detector, size = hashlib.sha256(), EncodingDetector(), 0
        self.content.seek(0)
        while piece := self.content.read(_PIECE):
            if not size:
                refuse_other_formats(piece)
            size += len(piece)
            digest.update(piece)
            detector.feed(piece)
        self.size, self.content_hash = size, digest.digest()
        self._encoding = detector.encoding()
        self._encoding_warning = ""
        if self._encoding == WINDOWS_1252:  # no bytes can prove this encoding, so it is a guess
            is_contradicted = detector.contradicts_windows_1252
            self._encoding_warning = "other_encoding" if is_contradicted else "windows_1252"

    def _sample(self) -> tuple[int, list[str]]:
        """Return the number of blank lines at the start, and a sample of the next lines."""
        sample: list[str] = []
        blank = filled = characters = 0
        for line in lines_of(HashingReader(self.content), self._encoding):
            if not sample and line.isspace():
                blank += 1
                continue
            sample.append(line)
            filled += not line.isspace()
            characters += len(line)
            is_long = len(sample) == _MOST_LINES or characters > _MOST_CHARACTERS
            if is_long or filled == _FILLED_LINES:
                break
        return blank, sample

    def _detect_layout(self, blank: int, sample: list[str]) -> None:
        stated = stated_delimiter(sample[0]) if sample else None
        self._separator_line = blank + 1 if stated else 0
        self._delimiter = stated or detect_delimiter(sample)
        found = [
            (blank + record[0], record[1])
            for record in records(iter(sample), self._delimiter)
            if not isinstance(record, BadRow)
            and blank + record[0] > self._separator_line
            and any(map(str.strip, record[1]))
        ]
        if found and tuple(map(key, found[0][1][: len(IN_FRONT)])) == IN_FRONT:
            self._recognise_rejected(found)
            found = [_without_front(*record) for record in found]
        before = self._reading_before
        layout = layout_of(found, self.mapping, self.filename, self.fields, before)
        if layout is None:
            text = "".join(sample)
            shown = " ".join(excerpt(text).replace("\ufffd", " ").split())
            raise without_addresses(text, shown[:_SHOWN])
        self._layout = layout
        if before:
            self._reading_before = replace(before, address=layout.address)
        self.mapping = self._with_found_fields(layout)
        below = [fields for line, fields in found if line > layout.header_line]
        self.description = self._describe(layout, below, sample)

    def _recognise_rejected(self, found: list[tuple[int, list[str]]]) -> None:
        header = without_empty_ends(_without_front(*found[0])[1])
        lines = [_line_number(fields[0]) for _, fields in found[1:]]
        known = self._find_reading(header, sorted(set(filter(None, lines))), self.filename)
        said = said_by_name(self.filename)
        guess = Reading(header, len(header), said, is_guess=True)
        self._reading_before, mapping = known or (guess, ())
        self.mapping = self.mapping or mapping

    def _with_found_fields(self, layout: Layout) -> Mapping:
        """Map recognised fields now, so that a later edit of a field does not matter."""
        by_hand = {to for _, to in self.mapping}
        found = tuple(
            (f"column {column + 1}", one.name)
            for one in self.fields
            for column in layout.fields[one.name]
            if one not in READER_FIELDS and one.name not in by_hand
        )
        return (*self.mapping, *found)

    def _describe(self, layout: Layout, below: list[list[str]], sample: list[str]) -> Description:
        width = max([layout.width, *map(len, below)])
        ends = dict.fromkeys(filter(None, map(line_end, sample)))
        rows = [
            (fields[layout.address], layout.values_in(fields)[0])
            for fields in below
            if layout.address < len(fields)
        ]
        status = layout.status

        def named(columns: Iterable[int]) -> list[str]:
            return [_column_name(layout, column) for column in columns]

        return Description(
            encoding=self._encoding.words,
            delimiter=gettext_noop("one column") if width == 1 else DELIMITERS[self._delimiter],
            has_header=bool(layout.header_line),
            line_ends=", ".join(ends),
            used_columns={use: named(columns) for use, columns in layout.columns_of.items()},
            unused_columns=_unused_columns(layout),
            examples=tuple(
                ", ".join(filter(None, (excerpt(email), excerpt(" ".join(name.split())))))
                for email, name in [*rows[:1], *self._rows_with_accents(rows)]
            ),
            encoding_warning=self._encoding_warning,
            product=status.product if status else "",
            hidden=status.hidden if status else "",
            offers={str(one.column + 1): one.tag for one in layout.tags if not one.is_chosen},
            columns=self._columns(layout, below),
            doubts=named(one.column for one in (status.left_out if status else ())),
            field_labels={one.name: str(one.label) for one in self.fields},
            reading=asdict(self._reading_before or self._reading_of(layout)),
            seconds=[
                {
                    "number": one.column + 1,
                    "column": _column_name(layout, one.column),
                    "field": one.field,
                    "instead": named(one.instead),
                }
                for one in layout.seconds[:MOST_COLUMNS]
            ],
        )

    def _reading_of(self, layout: Layout) -> Reading:
        names = layout.columns_of[READER_FIELDS[0].name]
        header = [word.strip() for word in layout.header]
        if not header:
            words = {**dict.fromkeys(names, "name"), layout.address: EMAIL}
            header = [words.get(at, f"column {at + 1}") for at in range(layout.width)]
        return Reading(
            without_empty_ends(header),
            layout.width,
            said_by_name(self.filename),
            layout.address,
            names,
            layout.statuses,
        )

    def _columns(
        self, layout: Layout, below: list[list[str]]
    ) -> list[tuple[str, str, Sequence[str]]]:
        """Return each column's name, its use, and some of its different values."""
        # If a column has two uses, describe the first use: for example, a date of sign-up may also
        # be a status.
        uses = {at: use for use, some in reversed(layout.columns_of.items()) for at in some}
        found: list[tuple[str, str, Sequence[str]]] = []
        for column in range(min(layout.width, MOST_COLUMNS)):
            cells = (row[column].strip() for row in below if column < len(row))
            samples = dict.fromkeys(excerpt(cell)[:_LONGEST_SAMPLE] for cell in cells if cell)
            name = layout.header[column].strip() if column < len(layout.header) else ""
            use = uses.get(column, "")
            found.append((excerpt(name)[:_SHOWN], use, list(samples)[:_SAMPLES]))
        return found

    def _rows_with_accents(self, sample: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Find rows with accents: they show a human whether the encoding is right."""
        found = (row for row in sample[1:] if not row[1].isascii())
        if self._encoding_warning and all(name.isascii() for _, name in sample):
            found = (
                (row.email, row.values[0])
                for row in self.rows()
                if isinstance(row, Row) and not row.values[0].isascii()
            )
        rows = list(islice(found, _MOST_WITH_ACCENTS))
        self._reading = None
        return rows


def _without_front(line: int, fields: list[str]) -> tuple[int, list[str]]:
    return line, [unguarded(cell) for cell in fields[len(IN_FRONT) :]]


def without_empty_ends(header: Sequence[str]) -> list[str]:
    """Return the header without the empty cells that spreadsheets add at its end."""
    words = [word.strip() for word in header]
    return words[: max((at for at, word in enumerate(words, 1) if word), default=0)]


def _line_number(cell: str) -> int:
    digits = cell.strip().removesuffix(".0")  # some spreadsheets write numbers like this
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else 0


def _column_name(layout: Layout, column: int) -> str:
    header = layout.header[column].strip() if column < len(layout.header) else ""
    return f"“{excerpt(header)[:_SHOWN]}”" if header else f"column {column + 1}"


def _unused_columns(layout: Layout) -> tuple[str, ...]:
    """Return the names of the first unused columns, and how many more there are."""
    used = set[int]().union(*layout.columns_of.values())
    unused = [column for column in range(layout.width) if column not in used]
    names = tuple(_column_name(layout, column) for column in unused[:_MAX_UNUSED])
    more = len(unused) - len(names)
    return (*names, f"{more:,} more") if more else names


def open_regular_file(path: Path) -> BinaryIO:
    """Open a file on disk, or raise `UnreadableFileError`."""
    try:
        file = path.open("rb")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableFileError("file_not_opened", path=str(path), error=reason) from error
    # Refuse a pipe: it can be read only once, but the content must be read twice, first for its
    # hash.
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise UnreadableFileError("file_not_regular", path=str(path))
    return file
