"""
From lines to the fields of a row: the only place that knows quotation marks.

A row that cannot be understood becomes a `BadRow`, and the others go on. A quotation mark that is
never closed would swallow the rows after it, up to the end of the file. So a row may span a few
lines only; when it does not end in time, or ends in a way that makes no sense, its first line is
bad and reading starts again at the next line.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from subscribers.importing.file_format.encoding import UNDECODABLE
from subscribers.importing.file_format.lines import LONGEST_LINE
from subscribers.models.rejected_row import LONGEST_EXCERPT

MOST_LINES_IN_A_ROW = 40  # somebody's address or remark in quotation marks, with room


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be understood. `excerpt`: the start of what stands there."""

    line: int
    excerpt: str
    reason: str


def records(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]] | BadRow]:
    """
    Each row as the number of its first line, from 1, and its fields; blank lines are no rows.

    Most lines hold no quotation mark and are only split, which is what makes reading fast.
    """
    taken_back: deque[str] = deque()
    number = 0
    while line := taken_back.popleft() if taken_back else next(lines, ""):
        number += 1
        if line.isspace() and len(line) <= LONGEST_LINE:
            continue
        if fault := _fault(line):
            yield BadRow(number, excerpt(line), fault)
        elif '"' not in line:
            yield number, line.rstrip("\r\n").split(delimiter)
        else:
            row = [line]
            try:
                fields = _quoted(row, taken_back, lines, delimiter)
            except csv.Error as error:
                taken_back.extendleft(reversed(row[1:]))
                yield BadRow(number, excerpt(line), _why(error))
            else:
                yield number, fields
                number += len(row) - 1


def excerpt(text: str) -> str:
    """The start of `text` for a report: in one line and without control characters."""
    start = text.strip()[:LONGEST_EXCERPT]
    return "".join(character if character.isprintable() else "\ufffd" for character in start)


class _OtherRowsInsideError(csv.Error):
    """A quotation spans what looks like other rows."""


def _quoted(
    row: list[str], taken_back: deque[str], lines: Iterator[str], delimiter: str
) -> list[str]:
    """The fields of the row that starts with `row`, to which the lines it goes on to are added."""

    def wanted() -> Iterator[str]:
        yield row[0]
        while len(row) < MOST_LINES_IN_A_ROW:
            line = taken_back.popleft() if taken_back else next(lines, "")
            if not line:
                return
            row.append(line)
            if _fault(line):
                return
            yield line

    fields = next(csv.reader(wanted(), delimiter=delimiter, skipinitialspace=True, strict=True))
    if any("@" in field and _spans_lines(field) for field in fields):
        # Hardly one field: rather the rows of other readers, who would be lost unnoticed.
        raise _OtherRowsInsideError
    return fields


def _spans_lines(field: str) -> bool:
    inside = field.strip()
    return "\n" in inside or "\r" in inside


def _fault(line: str) -> str:
    """Why this line can be no part of a row; empty if it can."""
    if len(line) > LONGEST_LINE:
        return f"The line is longer than {LONGEST_LINE:,} characters."
    if "\0" in line:
        return "The line contains a NUL byte, which no text has."
    if not line.isascii() and UNDECODABLE in line:
        return "The line contains bytes that are no characters in the encoding of the file."
    return ""


def _why(error: csv.Error) -> str:
    """What is wrong with a row, in words that do not need the csv module's."""
    said = str(error)
    if isinstance(error, _OtherRowsInsideError):
        return "A quotation mark is opened here and closed in another row."
    if "field larger" in said:
        return "A field is too long."
    if "end of data" in said:
        return "A quotation mark is opened here and never closed."
    return "A quotation mark stands inside a field; there it must be doubled."
