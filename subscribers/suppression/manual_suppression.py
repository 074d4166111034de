"""
Shutting an address out, and letting it in again: the only place where an operator does either.

What an operator shut out, its owner's own opt-in does not let in. What the provider or an import
told of an address no operator undoes, before the shutting out or after it: letting in takes the
operator's word back, and nothing else.
"""

from __future__ import annotations

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.interface import queue_suppression_change
from subscribers.consent import consent_ledger
from subscribers.models import Subscriber, Suppression
from subscribers.models.consent_record import Act, How
from subscribers.suppression.apply_provider_events import reasons_told_of

Origin = Suppression.Origin
OPERATOR = Origin.OPERATOR
Reason = Suppression.Reason
MANUAL = Reason.MANUAL
_BY_GRAVITY = (Reason.MANUAL, Reason.BOUNCE, Reason.UNSUBSCRIBE, Reason.COMPLAINT)


def is_shut_out(address_key: str) -> bool:
    """Whether an operator shut this address out."""
    return Suppression.objects.filter(
        address_key=address_key, origin=OPERATOR, lifted_at=None
    ).exists()


def shut_out(subscriber_id: int) -> bool:
    """Mail this reader's address no more, whatever they ask. False if it is so already."""
    with transaction.atomic():
        reader = Subscriber.objects.select_for_update().filter(id=subscriber_id).first()
        if reader is None or not _enter(reader.email_key):
            return False
        consent_ledger.record(subscriber_id, Act.SHUT_OUT, How.OPERATOR)
        queue_suppression_change(reader.email, "suppress")
        return True


def let_in(subscriber_id: int) -> bool:
    """Take back that the address is shut out. False if no operator shut it out."""
    with transaction.atomic():
        reader = Subscriber.objects.select_for_update().filter(id=subscriber_id).first()
        if reader is None:
            return False
        standing = (
            Suppression.objects.select_for_update()
            .filter(address_key=reader.email_key, origin=OPERATOR, lifted_at=None)
            .first()
        )
        if standing is None:
            return False
        entry = Suppression.objects.filter(pk=standing.pk)
        entry.update(lifted_at=Now(), lifted_by=None)
        why = _why_it_stays_shut(reader, standing)
        if why is not None:
            origin = Origin.IMPORT if why == MANUAL else Origin.PROVIDER
            entry.update(lifted_at=None, origin=origin, reason=why)
        elif reader.state == Subscriber.State.CONFIRMED:
            queue_suppression_change(reader.email, "reactivate")
        return True


def _why_it_stays_shut(reader: Subscriber, standing: Suppression) -> Reason | None:
    """The gravest reason from the provider or an import since the owner's last opt-in, if any."""
    told = reasons_told_of(reader)
    is_over = reader.opt_in is not None and reader.opt_in.at >= standing.at
    if standing.reason != MANUAL and not is_over:
        # It was there before the operator's word; perhaps before the address was a reader's.
        told.append(Reason(standing.reason))
    return max(told, key=_BY_GRAVITY.index, default=None)


def _enter(address_key: str) -> bool:
    """Have the suppression list say it; False if it did."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO suppression (address_key, reason, origin) VALUES (%s, %s, %s)
            ON CONFLICT (address_key) DO NOTHING
            """,
            [address_key, MANUAL.value, OPERATOR.value],
        )
        if cursor.rowcount:
            return True
    standing = Suppression.objects.select_for_update().get(address_key=address_key)
    entry = Suppression.objects.filter(pk=standing.pk)
    if standing.lifted_at is not None:
        entry.update(lifted_at=None, lifted_by=None, reason=MANUAL, origin=OPERATOR, at=Now())
        return True
    if standing.origin == OPERATOR:
        return False
    # Why the provider will not mail it stays to be seen.
    entry.update(origin=OPERATOR)
    return True
