"""The columns of a reader's fields, in each table that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

from delivery.reader_fields import FIELD_NAMES, READER_FIELDS


class ReaderColumns(models.Model):
    """One text column for each of `READER_FIELDS`; empty if the reader gave no value."""

    if TYPE_CHECKING:
        name: str

    class Meta:
        abstract = True

    @property
    def values_of_fields(self) -> dict[str, str]:
        """The value of each field, by its name."""
        return {name: getattr(self, name) for name in FIELD_NAMES}


for _field in READER_FIELDS:
    ReaderColumns.add_to_class(
        _field.name,
        models.CharField(max_length=_field.longest, blank=True, default="", db_default=""),
    )
