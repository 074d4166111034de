"""How a file was understood, in words, for the person who has to see whether that is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from subscribers.importing.file_format.columns import Layout
from subscribers.importing.file_format.encoding import WINDOWS_1252, Encoding
from subscribers.importing.file_format.records import excerpt

_LONGEST_HEADER = 60  # characters shown
_MOST_UNUSED = 12  # columns named; a file may have thousands


@dataclass(frozen=True, slots=True)
class Description:
    """
    How a file is read. Columns are named as the header names them, “E-Mail”, or else column 2.

    `delimiter`: semicolons, or one column. `line_ends`: CRLF, LF, CR or several of them; empty if
    there is one line only. `name_columns`: those that make up the name, in its order.
    `first_row`: address and name as the file has them; None if there is no row. `with_accents`: a
    few more rows, by which one sees whether letters come out right. `doubt`: one sentence if they
    may not. `product`: whose export it is, if that is recognised; `hidden`: what such a file does
    not show. `status_columns`: those that say who is subscribed.
    """

    encoding: str
    delimiter: str
    has_header: bool
    line_ends: str
    address_column: str
    name_columns: tuple[str, ...]
    unused_columns: tuple[str, ...]
    first_row: tuple[str, str] | None
    with_accents: tuple[tuple[str, str], ...] = ()
    doubt: str = ""
    product: str = ""
    status_columns: tuple[str, ...] = ()
    hidden: str = ""

    @property
    def examples(self) -> tuple[str, ...]:
        """The rows to look at, such as: lidia@example.org, Lídia Ramos."""
        rows = ((self.first_row,) if self.first_row else ()) + self.with_accents
        return tuple(", ".join(filter(None, row)) for row in rows)

    @property
    def read_as(self) -> str:
        """Such as: Ghost members: UTF-8, commas, with a header, CRLF."""
        header = "with a header" if self.has_header else "without a header"
        how = ", ".join(filter(None, (self.encoding, self.delimiter, header, self.line_ends)))
        return f"{self.product}: {how}" if self.product else how

    @property
    def columns(self) -> str:
        """Such as: “E-Mail” is the address, “Nome” the name, “status” the status."""
        name, status = " and ".join(self.name_columns), listed(self.status_columns)
        said = f", {name} the name" if name else "; there are no names"
        if status:
            said += f", {status} the status"
        return _sentence_start(f"{self.address_column} is the address{said}")

    @property
    def not_used(self) -> str:
        """Such as: “Stand” is not used. Empty if all columns are."""
        if not self.unused_columns:
            return ""
        verb = "is" if len(self.unused_columns) == 1 else "are"
        return _sentence_start(f"{listed(self.unused_columns)} {verb} not used")


def doubt_about(encoding: Encoding, *, is_contradicted: bool) -> str:
    """What to say of an encoding that is only the last one left, not one that the bytes prove."""
    if encoding != WINDOWS_1252:
        return ""
    if is_contradicted:
        return (
            "It is not UTF-8, and it holds bytes that stand for nothing in Windows-1252, so it is "
            "probably in another encoding. Save the list as “CSV UTF-8” and take that."
        )
    return (
        "It is not UTF-8, so its letters are taken for Windows-1252, as Western Europe writes. If "
        "a name looks wrong here, save the list as “CSV UTF-8” and take that."
    )


def column_in_words(layout: Layout, column: int) -> str:
    """The column as its header has it, or its number from 1."""
    header = layout.header[column].strip() if column < len(layout.header) else ""
    return f"“{excerpt(header)[:_LONGEST_HEADER]}”" if header else f"column {column + 1}"


def unused_in_words(layout: Layout) -> tuple[str, ...]:
    """The columns that nothing is read from; of many only the first, and how many more."""
    used = {layout.address, *layout.names, *(layout.status.columns if layout.status else ())}
    unused = [column for column in range(layout.width) if column not in used]
    words = tuple(column_in_words(layout, column) for column in unused[:_MOST_UNUSED])
    more = len(unused) - len(words)
    return (*words, f"{more:,} more") if more else words


def listed(words: Sequence[str]) -> str:
    """Such as: one, two and three; empty for none."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _sentence_start(text: str) -> str:
    return text[0].upper() + text[1:]
