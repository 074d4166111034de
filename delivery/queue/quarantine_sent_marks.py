"""Quarantine waiting deliveries that may have been sent, so they are looked up.

A delivery is always sent first and then marked. Two cases break this order: a mark without a
settled delivery, and an acceptance after the claim was lost (docs/decisions/0006). Only the mark
without a settled delivery raises an alarm.
"""

import logging
from collections.abc import Sequence

from django.db.backends.utils import CursorWrapper
from django.db.models import F
from django.db.models.functions import Now

from delivery.models import Alarm, Batch
from delivery.monitoring.alarms import raise_alarm
from delivery.queue.batches.insert_and_split import split_off
from delivery.queue.batches.write_outcomes import write_outcomes
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Unknown
from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)

# In SQL: whether an acceptance of the copy is recorded. With OFFSET, PostgreSQL looks up the
# evidence by the copy's key.
_IS_PROVED = """EXISTS (
    SELECT FROM evidence
    WHERE evidence.issue_id = delivery.issue_id AND evidence.version = delivery.version
      AND evidence.recipient_id = delivery.recipient_id
    OFFSET 0)"""

# A waiting copy may have been sent if it has a provider's id, a sent time, or a late acceptance.
HAS_SENT_MARK = f"(provider_message_id IS NOT NULL OR sent_at IS NOT NULL OR {_IS_PROVED})"


def quarantine(cursor: CursorWrapper, batch: int, edition: int, marked: Sequence[int]) -> None:
    """Put each of these waiting deliveries into a separate unknown batch.

    Raises one alarm for each delivery without a recorded acceptance. The caller has locked the
    edition and the batch.
    """
    logger.critical(
        "%d deliveries of batch %d are marked as sent but not settled; they are looked up first",
        len(marked),
        batch,
    )
    _raise_alarms(cursor, batch, edition, marked)
    for recipient in marked:
        aside = split_off(cursor, batch, edition, [recipient])
        write_outcomes(cursor, aside, {recipient: Unknown()}, old="waiting")
        Batch.objects.filter(pk=aside).update(
            state=Batch.State.UNKNOWN,
            waiting=0,
            unknown=F("size"),
            lookups=0,
            unknown_since=Now(),
            due_at=Now(),
            reason=Reason.of(ReasonCode.MARKED_UNSETTLED).dumps(),
        )


def _raise_alarms(cursor: CursorWrapper, batch: int, edition: int, marked: Sequence[int]) -> None:
    cursor.execute(
        f"""
        SELECT issue_id, version, recipient_id FROM delivery
        WHERE batch_id = %s AND recipient_id = ANY(%s) AND NOT {_IS_PROVED}
        ORDER BY recipient_id
        """,  # noqa: S608 -- a constant
        [batch, list(marked)],
    )
    for issue, version, recipient in cursor.fetchall():
        raise_alarm(
            cursor,
            edition,
            Alarm.Kind.MARKED_UNSETTLED,
            str(DeliveryKey(issue, version, recipient)),
            Reason.of(ReasonCode.DELIVERY_MARKED_UNSETTLED, recipient=recipient),
        )


def quarantine_marked(cursor: CursorWrapper, edition: int, *, batch: int | None = None) -> int:
    """Quarantine marked deliveries in an edition's paused batches, or in one batch.

    Returns the number of quarantined deliveries. Call this before waiting deliveries are withdrawn.
    The caller has locked the edition.
    """
    cursor.execute(
        f"""
        SELECT batch_id, array_agg(recipient_id ORDER BY recipient_id)
        FROM delivery JOIN batch ON batch.id = batch_id
        WHERE batch.edition_id = %(edition)s AND outcome = 'waiting'
          AND CASE WHEN %(batch)s::bigint IS NULL
                   THEN batch_is_open_1(batch) AND batch.state = 'paused'
                   ELSE batch.id = %(batch)s END
          AND {HAS_SENT_MARK}
        GROUP BY batch_id
        """,  # noqa: S608 -- constants
        {"edition": edition, "batch": batch},
    )
    aside = 0
    for holder, marked in cursor.fetchall():
        quarantine(cursor, holder, edition, marked)
        aside += len(marked)
    return aside
