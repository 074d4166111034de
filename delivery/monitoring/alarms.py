"""Raises alarms: what must not happen did, and a person has to know. Each is raised once."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper
from django.db.models import Count, Max, Window
from django.db.models.functions import Now, RowNumber

from delivery.models import Alarm
from delivery.monitoring import delivery_metrics
from delivery.rules.reason import Reason

logger = logging.getLogger(__name__)


def raise_alarm(
    cursor: CursorWrapper, edition: int, kind: Alarm.Kind, about: str, reason: Reason
) -> bool:
    """
    Put an alarm on record; False, and nothing happens, if it was raised before.

    `about` makes it the same alarm or another: at most 120 characters. `reason` names no
    address.
    """
    cursor.execute(
        """
        INSERT INTO alarm (edition_id, kind, about, reason) VALUES (%s, %s, %s, %s)
        ON CONFLICT (edition_id, kind, about) DO NOTHING
        """,
        [edition, kind.value, about, reason.dumps()],
    )
    is_new = bool(cursor.rowcount == 1)
    if is_new:
        delivery_metrics.count_alarm(kind.value)
        logger.critical("alarm for edition %d (%s): %s", edition, kind.value, reason)
    return is_new


def load_alarms(edition: int, *, most: int) -> list[Alarm]:
    """The alarms of an edition, the latest first, at most so many."""
    return list(Alarm.objects.filter(edition=edition).order_by("-raised_at", "-pk")[:most])


@dataclass(frozen=True, slots=True)
class UnseenAlarms:
    """
    The latest alarm of an edition that nobody has looked at, how many `others` of that edition
    nobody has looked at either, and the id of the last of them all.
    """

    latest: Alarm
    others: int
    up_to: int


def load_unseen_by_edition(*, most: int) -> list[UnseenAlarms]:
    """What nobody has looked at yet, edition by edition, the latest first, of at most so many."""
    alarms = (
        Alarm.objects.filter(looked_at=None)
        .annotate(
            place=Window(RowNumber(), partition_by="edition", order_by=["-raised_at", "-pk"]),
            count=Window(Count("pk"), partition_by="edition"),
            up_to=Window(Max("pk"), partition_by="edition"),
        )
        .filter(place=1)
        .select_related("edition")
        # The words of the edition would come along, and nobody reads them here.
        .only("kind", "reason", "raised_at", "edition__issue_id", "edition__version")
        .order_by("-raised_at", "-pk")
    )
    return [
        UnseenAlarms(alarm, vars(alarm)["count"] - 1, vars(alarm)["up_to"])
        for alarm in alarms[:most]
    ]


def count_editions_with_unseen() -> int:
    """Of how many editions there are alarms that nobody has looked at yet."""
    return Alarm.objects.filter(looked_at=None).values("edition").distinct().count()


def load_unseen() -> list[Alarm]:
    """Every alarm that nobody has looked at yet, the first first."""
    alarms = Alarm.objects.filter(looked_at=None).select_related("edition").order_by("pk")
    return list(alarms.only("kind", "reason", "raised_at", "edition__issue_id", "edition__version"))


def mark_seen(edition: int, up_to: int, looker: uuid.UUID | None) -> int:
    """
    Somebody has looked at the alarms of an edition, up to the one with the id `up_to`; how many
    nobody had looked at before. What was raised meanwhile is still to be looked at. `looker` is
    None for somebody at a shell.
    """
    return Alarm.objects.filter(edition=edition, pk__lte=up_to, looked_at=None).update(
        looked_at=Now(), looked_by=looker
    )
