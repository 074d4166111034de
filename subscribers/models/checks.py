"""Check constraints, named by keyword."""

from django.db.models import CheckConstraint, Q


def checks(**conditions: Q) -> list[CheckConstraint]:
    """One constraint for each condition, under its keyword as name."""
    return [CheckConstraint(name=name, condition=check) for name, check in conditions.items()]
