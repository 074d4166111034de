"""Manual blocks of addresses. A reader's opt-in does not end a block."""

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.interface import queue_suppression_change
from subscribers.consent.consent_log import record_consent
from subscribers.models import Subscriber, Suppression
from subscribers.models.consent_record import Act, How
from subscribers.suppression.apply_events_to_readers import reported_reasons

Origin = Suppression.Origin
Reason = Suppression.Reason
_BY_GRAVITY = (Reason.MANUAL, Reason.BOUNCE, Reason.UNSUBSCRIBE, Reason.COMPLAINT)


def is_blocked(address_key: str) -> bool:
    """Return whether an operator blocks this address."""
    return Suppression.objects.filter(
        address_key=address_key, origin=Origin.OPERATOR, lifted_at=None
    ).exists()


def block(subscriber_id: int) -> bool:
    """Block all mail to this reader's address; return False if already blocked."""
    with transaction.atomic():
        reader = Subscriber.objects.select_for_update().filter(id=subscriber_id).first()
        if reader is None or not _suppress(reader.email_key):
            return False
        record_consent(subscriber_id, Act.BLOCKED, How.OPERATOR)
        queue_suppression_change(reader.email, "suppress")
        return True


def unblock(subscriber_id: int) -> bool:
    """End the operator's block of a reader's address; return False without a block."""
    with transaction.atomic():
        reader = Subscriber.objects.select_for_update().filter(id=subscriber_id).first()
        if reader is None:
            return False
        blocked = (
            Suppression.objects.select_for_update()
            .filter(address_key=reader.email_key, origin=Origin.OPERATOR, lifted_at=None)
            .first()
        )
        if blocked is None:
            return False
        row = Suppression.objects.filter(pk=blocked.pk)
        row.update(lifted_at=Now(), lifted_by=None)
        if (reason := _remaining_reason(reader, blocked)) is not None:
            origin = Origin.IMPORT if reason == Reason.MANUAL else Origin.PROVIDER
            row.update(lifted_at=None, origin=origin, reason=reason)
        elif reader.state == Subscriber.State.CONFIRMED:
            queue_suppression_change(reader.email, "reactivate")
        return True


def _remaining_reason(reader: Subscriber, blocked: Suppression) -> Reason | None:
    reasons = reported_reasons(reader)
    opted_in_since = reader.opt_in is not None and reader.opt_in.at >= blocked.at
    if blocked.reason != Reason.MANUAL and not opted_in_since:
        # The address was suppressed for this reason before it was blocked, maybe even before the
        # reader was added.
        reasons.append(Reason(blocked.reason))
    return max(reasons, key=_BY_GRAVITY.index, default=None)


def _suppress(address_key: str) -> bool:
    """Block the address, but keep an earlier reason; return False if already blocked."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO suppression AS held (address_key, reason, origin) VALUES (%s, %s, %s)
            ON CONFLICT (address_key) DO UPDATE
            SET origin = excluded.origin, lifted_at = NULL, lifted_by_id = NULL,
                reason = CASE WHEN held.lifted_at IS NULL THEN held.reason ELSE excluded.reason END,
                at = CASE WHEN held.lifted_at IS NULL THEN held.at ELSE excluded.at END
            WHERE held.lifted_at IS NOT NULL OR held.origin <> excluded.origin
            """,
            [address_key, Reason.MANUAL.value, Origin.OPERATOR.value],
        )
        return bool(cursor.rowcount)
