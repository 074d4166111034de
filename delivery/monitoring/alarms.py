"""Raise each alarm once, and load the alarms that nobody has seen yet."""

import logging
import uuid

from django.db.backends.utils import CursorWrapper
from django.db.models import Count, Max, QuerySet, Window
from django.db.models.functions import Now, RowNumber

from delivery.models import Alarm
from delivery.monitoring.delivery_metrics import ALARMS
from delivery.monitoring.metrics_storage import add_on_commit
from delivery.rules.reason import Reason

logger = logging.getLogger(__name__)


def raise_alarm(
    cursor: CursorWrapper, edition: int, kind: Alarm.Kind, about: str, reason: Reason
) -> bool:
    """Raise an alarm, once for each `about`; return whether it is new.

    `about` has at most 120 characters. `reason` must not contain an address.
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
        add_on_commit(ALARMS, kind=kind.value)
        logger.critical("alarm for edition %d (%s): %s", edition, kind.value, reason)
    return is_new


def _unseen() -> QuerySet[Alarm]:
    return (
        Alarm.objects.filter(seen_at=None)
        .select_related("edition")
        .only("kind", "reason", "raised_at", "edition__issue_id", "edition__version")
    )


def load_unseen_by_edition(*, limit: int) -> list[Alarm]:
    """Load the latest unseen alarm of at most `limit` editions, the latest first.

    `others` is the number of the edition's other unseen alarms. `up_to` is the highest id of the
    edition's unseen alarms.
    """
    alarms = _unseen().annotate(
        rank=Window(RowNumber(), partition_by="edition", order_by=["-raised_at", "-pk"]),
        others=Window(Count("pk"), partition_by="edition") - 1,
        up_to=Window(Max("pk"), partition_by="edition"),
    )
    return list(alarms.filter(rank=1).order_by("-raised_at", "-pk")[:limit])


def load_unseen() -> list[Alarm]:
    """Load every unseen alarm, the oldest first."""
    return list(_unseen().order_by("pk"))


def mark_seen(edition: int, up_to: int, user: uuid.UUID | None) -> int:
    """Mark an edition's alarms up to the id `up_to` as seen.

    Without `user`, an operator has seen the alarms.
    """
    unseen = Alarm.objects.filter(edition=edition, pk__lte=up_to, seen_at=None)
    return unseen.update(seen_at=Now(), seen_by=user)
