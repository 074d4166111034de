"""What is said where copies would be shown that are not kept any more: one sentence everywhere."""

from __future__ import annotations

from datetime import datetime

from delivery.models import Newsletter


def since_when(dropped_at: datetime) -> str:
    """The day on which they were dropped, as pages say it."""
    there = dropped_at.astimezone(Newsletter.objects.the_one().zone)
    return f"{there.day} {there:%B %Y}"


def dropped_sentence(dropped_at: datetime | None) -> str:
    """What is said wherever copies would be shown; empty while they are there."""
    if dropped_at is None:
        return ""
    return (
        f"Who its copies went to is not kept any more: they were dropped on "
        f"{since_when(dropped_at)}. Its counts and its receipt stay."
    )
