"""Columns that several tables share: a reader's fields, choices and reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

from delivery.reader_fields import FIELD_NAMES, READER_FIELDS
from delivery.rules.reason import Reason

# The options of a foreign key to a row that may be deleted. A foreign key with these options has no
# constraint and no index.
UNCONSTRAINED: dict[str, Any] = {
    "on_delete": models.DO_NOTHING,
    "db_constraint": False,
    "db_index": False,
}


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


_PLAIN_TEXT = models.CharField()

if TYPE_CHECKING:
    ChoiceField = models.CharField
else:

    class ChoiceField(models.CharField):
        """A text with known values, whose labels may change without a migration."""

        def deconstruct(self) -> Any:
            name, _, args, kwargs = super().deconstruct()
            kwargs.pop("choices", None)
            return name, "django.db.models.CharField", args, kwargs

        def get_col(self, alias: str, output_field: Any = None) -> Any:
            """Act as a plain text column, because Django refuses expressions of mixed types."""
            is_own = output_field is None or output_field == self
            return super().get_col(alias, _PLAIN_TEXT if is_own else output_field)


if TYPE_CHECKING:
    _TextField = models.TextField[Reason | str | None, Reason | None]
else:
    _TextField = models.TextField


class ReasonField(_TextField):
    """A reason. Without a reason: NULL if the column allows NULL, else the empty text."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Reason | None:
        return Reason.loads(value)

    def to_python(self, value: Any) -> Any:
        return Reason.loads(value) if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> Any:
        if value is None:
            return None if self.null else ""
        return value.dumps() if isinstance(value, Reason) else value

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs
