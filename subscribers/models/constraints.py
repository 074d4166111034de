"""Check constraints named by keyword, and foreign keys without a constraint or an index."""

from typing import Any

from django.db.models import DO_NOTHING, PROTECT, CheckConstraint, ForeignKey, Q


def checks(**conditions: Q) -> list[CheckConstraint]:
    """One constraint for each condition, under its keyword as name."""
    return [CheckConstraint(name=name, condition=check) for name, check in conditions.items()]


def unconstrained_key(to: str, **options: Any) -> "ForeignKey[Any, Any]":
    """A foreign key that the database does not hold: rows are deleted in an order of our own."""
    return ForeignKey(to, DO_NOTHING, db_constraint=False, **options)


def unindexed_key(to: str, **options: Any) -> "ForeignKey[Any, Any]":
    """A foreign key that may be null and is hardly ever searched by."""
    return ForeignKey(to, PROTECT, null=True, db_index=False, **options)
