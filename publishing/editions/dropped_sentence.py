"""The sentence shown instead of copies that were dropped."""

from datetime import datetime

from delivery.models import Newsletter


def since_when(dropped_at: datetime) -> str:
    """Return the day on which the copies were dropped, as pages write it."""
    there = dropped_at.astimezone(Newsletter.objects.get_current().zone)
    return f"{there.day} {there:%B %Y}"


def dropped_sentence(dropped_at: datetime | None) -> str:
    """Return the sentence; empty while the copies are there."""
    if dropped_at is None:
        return ""
    return (
        f"Who its copies went to is not kept any more: they were dropped on "
        f"{since_when(dropped_at)}. Its counts and its receipt stay."
    )
