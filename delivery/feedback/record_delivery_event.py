"""Record a delivery's arrival, bounce or complaint once, with its earliest time."""

from dataclasses import asdict
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from delivery.feedback.count_results import count_first_delivered
from delivery.feedback.pause_on_bounces import pause_if_over_threshold
from delivery.models import Batch, Delivery
from delivery.queue.batches.batch_state import count_feedback
from delivery.queue.short_transaction import lock_edition
from delivery.rules.delivery_key import DeliveryKey

_DELIVERY = "issue_id = %(issue)s AND version = %(version)s AND recipient_id = %(recipient)s"

_IS_DROPPED = """EXISTS (SELECT FROM edition WHERE issue_id = %(issue)s AND version = %(version)s
                                              AND deliveries_dropped_at IS NOT NULL)"""


def delivery(key: DeliveryKey) -> QuerySet[Delivery]:
    """Select the delivery with this key."""
    return Delivery.objects.filter(
        issue_id=key.issue, version=key.version, recipient_id=key.recipient
    )


def record_delivered(key: DeliveryKey, at: datetime) -> None:
    """Record that the receiving server accepted the mail."""
    if not count_first_delivered(key, at):
        delivery(key).filter(delivered_at__gt=at).update(delivered_at=at)


def record_feedback(
    cursor: CursorWrapper, key: DeliveryKey, at: datetime, what: Literal["bounced", "complained"]
) -> None:
    """Record a bounce or complaint. Too many bounces or complaints pause the edition."""
    params = {**asdict(key), "at": at}
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
    # The common lock order: edition, batch, delivery. While the edition is locked, deliveries stay
    # in their batches.
    lock_edition(cursor, edition)
    holder = delivery(key).values("batch")[:1]
    Batch.objects.select_for_update(no_key=True).filter(pk=holder).first()
    # Counts do not change once an edition's deliveries are dropped. The transaction that drops
    # deliveries takes the same lock.
    if count_feedback(cursor, what, _DELIVERY, _IS_DROPPED, params):
        pause_if_over_threshold(cursor, edition)
    else:
        delivery(key).filter(**{f"{what}_at__gt": at}).update(**{f"{what}_at": at})


def find_delivery_by_message(issue: UUID, recipient: int, message_id: str) -> DeliveryKey | None:
    """Find the delivery with this provider id, for events without our metadata.

    The event may arrive before the reply that contains the id. If the event comes first, no
    delivery has the id yet, and the reader's only delivery without an id matches. Return None if no
    delivery matches, or if several match.
    """
    deliveries = Delivery.objects.filter(issue_id=issue, recipient_id=recipient)
    found = dict(deliveries.values_list("version", "provider_message_id"))
    versions = [version for version, known_id in found.items() if known_id == message_id]
    versions = versions or [version for version, known_id in found.items() if known_id is None]
    return DeliveryKey(issue, versions[0], recipient) if len(versions) == 1 else None
