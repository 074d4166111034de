"""The fields of a reader besides the address (docs/architecture.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


@dataclass(frozen=True, slots=True)
class ReaderField:
    """One field of a reader.

    `name` is its column, merge field, form control, CSV column and API key. `example` is for
    previews, `fallback` for readers without a value. Commas separate the `headers` of an import."""

    name: str
    label: StrPromise | str
    example: str
    fallback: str
    autocomplete: str
    headers: str = ""
    longest: int = 256

    @property
    def with_fallback(self) -> str:
        """Write it as inside the braces of a merge field: name|reader."""
        return f"{self.name}|{self.fallback}"


# An import finds names by more than one column (subscribers/importing/file_format/columns.py).
NAME = ReaderField("name", _("Name"), "Ada Whitlock", "reader", autocomplete="name")

READER_FIELDS = (NAME,)
FIELD_NAMES = tuple(field.name for field in READER_FIELDS)
# In SQL: “name, city”. Users cannot name fields, so quoting is not needed.
FIELD_COLUMNS = ", ".join(FIELD_NAMES)
