"""Raises alarms: what must not happen did, and a person has to know. Each is raised once."""

from __future__ import annotations

import logging

from django.db.backends.utils import CursorWrapper

from delivery.models import Alarm

logger = logging.getLogger(__name__)


def raise_alarm(
    cursor: CursorWrapper, edition: int, kind: Alarm.Kind, about: str, sentence: str
) -> bool:
    """
    Put an alarm on record; False, and nothing happens, if it was raised before.

    `about` makes it the same alarm or another: at most 120 characters. `sentence` is for people
    and names no address.
    """
    cursor.execute(
        """
        INSERT INTO alarm (edition_id, kind, about, sentence) VALUES (%s, %s, %s, %s)
        ON CONFLICT (edition_id, kind, about) DO NOTHING
        """,
        [edition, kind.value, about, sentence],
    )
    is_new = bool(cursor.rowcount == 1)
    if is_new:
        logger.critical("alarm for edition %d (%s): %s", edition, kind.value, sentence)
    return is_new


def alarms_of(edition: int, *, most: int) -> list[Alarm]:
    """The alarms of an edition, the latest first, at most so many."""
    return list(Alarm.objects.filter(edition=edition).order_by("-raised_at", "-pk")[:most])
