"""Make check constraints, and foreign keys without a constraint or an index."""

from typing import Any

from django.db.models import DO_NOTHING, PROTECT, CheckConstraint, ForeignKey, Q


def checks(**conditions: Q) -> list[CheckConstraint]:
    """Make a constraint for each condition, with the condition's keyword as its name."""
    return [CheckConstraint(name=name, condition=check) for name, check in conditions.items()]


def unconstrained_key(to: str, **options: Any) -> "ForeignKey[Any, Any]":
    """Make a foreign key without a constraint, so rows can be deleted in any order."""
    return ForeignKey(to, DO_NOTHING, db_constraint=False, **options)


def unindexed_key(to: str, **options: Any) -> "ForeignKey[Any, Any]":
    """Make a nullable foreign key without an index, for a rarely searched column."""
    return ForeignKey(to, PROTECT, null=True, db_index=False, **options)
