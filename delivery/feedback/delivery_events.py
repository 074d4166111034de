"""Records once, with its earliest time, that a delivery arrived, bounced or was complained
about."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.backends.utils import CursorWrapper
from django.db.models import Q

from delivery.feedback.pause_on_bounces import pause_if_over_threshold
from delivery.models import Delivery
from delivery.queue.batches.batch_state import count_feedback
from delivery.queue.batches.edition_lock import lock_edition
from delivery.rules.delivery_key import DeliveryKey

_DELIVERY = "issue_id = %(issue)s AND version = %(version)s AND recipient_id = %(recipient)s"

_IS_DROPPED = """EXISTS (SELECT FROM edition WHERE issue_id = %(issue)s AND version = %(version)s
                                              AND deliveries_dropped_at IS NOT NULL)"""


def _params(key: DeliveryKey, at: datetime | None = None) -> dict[str, Any]:
    return {"issue": key.issue, "version": key.version, "recipient": key.recipient, "at": at}


def record_delivered(key: DeliveryKey, at: datetime) -> None:
    """Record that the receiving server accepted the mail."""
    deliveries = Delivery.objects.filter(issue_id=key.issue, version=key.version)
    is_news = Q(delivered_at=None) | Q(delivered_at__gt=at)
    deliveries.filter(is_news, recipient_id=key.recipient).update(delivered_at=at)


def record_feedback(
    cursor: CursorWrapper, key: DeliveryKey, at: datetime, what: Literal["bounced", "complained"]
) -> None:
    """Record that the mail bounced, or was called spam. Too much of either pauses the edition."""
    params = _params(key, at)
    cursor.execute(
        f"""
        SELECT edition.id FROM edition JOIN delivery USING (issue_id, version)
        WHERE {_DELIVERY} AND ({what}_at IS NULL OR {what}_at > %(at)s)
        """,  # noqa: S608 -- constants
        params,
    )
    row = cursor.fetchone()
    if row is None:
        return
    (edition,) = row
    # Edition, batch, delivery: everyone's order. Under the edition's lock no delivery moves to
    # another batch.
    lock_edition(cursor, edition)
    cursor.execute(
        f"""
        SELECT FROM batch WHERE id = (SELECT batch_id FROM delivery WHERE {_DELIVERY})
        FOR NO KEY UPDATE
        """,  # noqa: S608 -- a constant
        params,
    )
    # Nothing is counted once an edition's deliveries are dropped. That mark needs the same lock.
    if count_feedback(cursor, what, _DELIVERY, _IS_DROPPED, params):
        pause_if_over_threshold(cursor, edition)
        return
    cursor.execute(
        f"UPDATE delivery SET {what}_at = %(at)s WHERE {_DELIVERY} AND {what}_at > %(at)s",  # noqa: S608 -- constants
        params,
    )


def find_delivery_by_message(issue: UUID, recipient: int, message_id: str) -> DeliveryKey | None:
    """Find the delivery that the provider knows by this id, for events without our metadata. The
    event may come before the reply that brings the id: then it is the only one without an id."""
    copies = Delivery.objects.filter(issue_id=issue, recipient_id=recipient)
    found = dict(copies.values_list("version", "provider_message_id"))
    versions = [version for version, known_id in found.items() if known_id == message_id]
    versions = versions or [version for version, known_id in found.items() if known_id is None]
    return DeliveryKey(issue, versions[0], recipient) if len(versions) == 1 else None


def exists_or_dropped(cursor: CursorWrapper, key: DeliveryKey) -> bool:
    """Whether this delivery is in this database, or was until its edition's were dropped."""
    cursor.execute(
        f"SELECT EXISTS (SELECT FROM delivery WHERE {_DELIVERY}) OR {_IS_DROPPED}",  # noqa: S608 -- constants
        _params(key),
    )
    return bool(cursor.fetchone()[0])


def is_dropped(cursor: CursorWrapper, key: DeliveryKey) -> bool:
    """Whether the deliveries of its edition are no longer kept."""
    cursor.execute(f"SELECT {_IS_DROPPED}", _params(key))
    return bool(cursor.fetchone()[0])
