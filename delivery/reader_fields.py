"""The fields of a reader besides the address (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


@dataclass(frozen=True, slots=True)
class ReaderField:
    """One field of a reader.

    `name` names the field everywhere: as column or key, as merge field and in the API. `example` is
    the value in previews, and `fallback` the value for readers without one. `headers` are column
    names that an import recognises, separated by commas. `is_own`: an author defined the field, and
    may have chosen any word as its name.
    """

    name: str
    label: StrPromise | str
    example: str
    fallback: str
    autocomplete: str
    headers: str = ""
    longest: int = 256
    is_own: bool = False

    @property
    def with_fallback(self) -> str:
        """Return what the braces of a merge field contain for this field: name|reader."""
        return f"{self.name}|{self.fallback}"

    @property
    def control(self) -> str:
        """The name of the field's form control; no other name begins with “field-”."""
        return f"field-{self.name}" if self.is_own else self.name


# An import may read a name from more than one column (file_format/recognise_columns.py).
NAME = ReaderField("name", _("Name"), "Ada Whitlock", "reader", autocomplete="name")

READER_FIELDS = (NAME,)
FIELD_NAMES = tuple(field.name for field in READER_FIELDS)
# In SQL: “name, city”. Users cannot name these fields, so quoting is not needed.
FIELD_COLUMNS = ", ".join(FIELD_NAMES)


def own_columns(keys: Iterable[str], ours: Collection[str]) -> list[str]:
    """Return CSV column names for an author's own fields, with no name from `ours`."""
    return [f"fields.{key}" if key in ours else key for key in keys]
