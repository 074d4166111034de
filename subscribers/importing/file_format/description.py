"""How a file was understood, for the importer to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from delivery.reader_fields import READER_FIELDS
from subscribers.importing.file_format.columns import Layout
from subscribers.importing.file_format.records import excerpt

_LONGEST_HEADER = 60  # characters shown
_MAX_UNUSED = 12  # columns named; a file may have thousands


@dataclass(frozen=True, slots=True)
class Description:
    """How a file is read, as JSON stores it. `encoding_warning` and `hidden` are codes."""

    encoding: str = ""
    delimiter: str = ""
    has_header: bool = False
    line_ends: str = ""
    address_column: str = ""
    field_columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unused_columns: Sequence[str] = ()
    examples: Sequence[str] = ()
    encoding_warning: str = ""
    product: str = ""
    status_columns: Sequence[str] = ()
    hidden: str = ""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Description | None:
        """Read what another release may have stored: unknown keys are ignored."""
        if stored is None:
            return None
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


def column_name(layout: Layout, column: int) -> str:
    """The column as its header has it, or its number from 1."""
    header = layout.header[column].strip() if column < len(layout.header) else ""
    return f"“{excerpt(header)[:_LONGEST_HEADER]}”" if header else f"column {column + 1}"


def field_columns(layout: Layout) -> dict[str, list[str]]:
    """The columns of each of the reader's fields, by name."""
    return {
        one.name: [column_name(layout, column) for column in columns]
        for one, columns in zip(READER_FIELDS, layout.fields, strict=True)
    }


def unused_columns(layout: Layout) -> tuple[str, ...]:
    """The columns that nothing is read from; of many only the first, and how many more."""
    used = {layout.address, *(layout.status.columns if layout.status else ())}.union(*layout.fields)
    unused = [column for column in range(layout.width) if column not in used]
    names = tuple(column_name(layout, column) for column in unused[:_MAX_UNUSED])
    more = len(unused) - len(names)
    return (*names, f"{more:,} more") if more else names
