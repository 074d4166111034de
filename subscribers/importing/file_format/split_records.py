"""Split lines into the fields of rows; a row may span a few lines."""

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from subscribers.importing.file_format.detect_encoding import UNDECODABLE
from subscribers.importing.file_format.split_lines import LONGEST_LINE
from subscribers.models.subscriber_import import LONGEST_EXCERPT
from subscribers.refusal_sentences import InputRefusal, refuse

MAX_LINES_IN_A_ROW = 40  # real quoted cells, such as a postal address, have fewer lines


Cells = Sequence[str]  # the cells of a row; if a row cannot be split, its text
_LINE_BREAK = re.compile("[\r\n]")


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read. `excerpt` is the start of its text."""

    line: int
    excerpt: str
    reason: InputRefusal
    cells: Cells = field(default=(), compare=False)


def records(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]] | BadRow]:
    """Yield for each row the number of its first line, from 1, and its cells."""
    put_back: deque[str] = deque()
    number = 0
    while line := put_back.popleft() if put_back else next(lines, ""):
        number += 1
        if line.isspace() and len(line) <= LONGEST_LINE:
            continue
        if fault := _fault(line):
            yield BadRow(number, excerpt(line), fault, _storable(line))
        elif '"' not in line:
            yield number, line.rstrip("\r\n").split(delimiter)
        else:
            row = [line]
            try:
                fields = _quoted(row, put_back, lines, delimiter)
            except csv.Error as error:
                put_back.extendleft(reversed(row[1:]))
                if fields := _padded(line, delimiter):
                    yield number, fields
                else:
                    yield BadRow(number, excerpt(line), _reason(error), _storable(line))
            else:
                yield number, fields
                number += len(row) - 1


def excerpt(text: str) -> str:
    """Return the start of a text as one line, without control characters."""
    start = text.strip()[:LONGEST_EXCERPT]
    return "".join(character if character.isprintable() else "\ufffd" for character in start)


def _storable(line: str) -> str:
    text = line.rstrip("\r\n")[:LONGEST_LINE]
    return text.replace("\0", "\ufffd").replace(UNDECODABLE, "\ufffd")


class _OtherRowsInsideError(csv.Error):
    """The error for quoted text that looks like several rows."""


def _quoted(
    row: list[str], put_back: deque[str], lines: Iterator[str], delimiter: str
) -> list[str]:
    """Parse a row with quotation marks; append the row's further lines to `row`."""

    def wanted() -> Iterator[str]:
        yield row[0]
        while len(row) < MAX_LINES_IN_A_ROW:
            line = put_back.popleft() if put_back else next(lines, "")
            if not line:
                return
            row.append(line)
            if _fault(line):
                return
            yield line

    fields = next(csv.reader(wanted(), delimiter=delimiter, skipinitialspace=True, strict=True))
    if any("@" in field and _LINE_BREAK.search(field.strip()) for field in fields):
        # The quoted text is probably several rows and not one cell. If the text were read as one
        # cell, the readers in these rows would be lost.
        raise _OtherRowsInsideError
    return fields


def _padded(line: str, delimiter: str) -> list[str]:
    """Split a line with spaces after closing quotation marks; empty if that fails."""
    text, at = line.rstrip("\r\n"), 0
    fields: list[str] = []
    while found := _one_field(delimiter).match(text, at):
        quoted, plain, end = found.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        at = found.end()
        if not end:
            return fields
    return []


@cache
def _one_field(delimiter: str) -> re.Pattern[str]:
    end = re.escape(delimiter)
    return re.compile(rf'(?: *"((?>(?:[^"]|"")*))" *|(?! *")([^{end}]*+))({end}|\Z)')


def _fault(line: str) -> InputRefusal | None:
    if len(line) > LONGEST_LINE:
        return refuse("line_too_long", longest=LONGEST_LINE)
    if "\0" in line:
        return refuse("line_with_nul")
    if not line.isascii() and UNDECODABLE in line:
        return refuse("line_undecodable")
    return None


def _reason(error: csv.Error) -> InputRefusal:
    """Return the refusal for a csv error, which only the error's text identifies."""
    text = str(error)
    if isinstance(error, _OtherRowsInsideError):
        return refuse("quote_closed_in_another_row")
    if "field larger" in text:
        return refuse("field_of_row_too_long")
    return refuse("quote_not_closed" if "end of data" in text else "quote_inside_field")
