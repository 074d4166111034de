"""Lift a suppression at the provider for a mail on request, then send the mail.

The provider is asked to lift a suppression only after it refused a requested mail. So a reader's
request for mail needs no call to the provider, and Homing's answer to the request cannot depend on
the address.
"""

from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import connection
from django.db.models import Q

from delivery.feedback.send_suppression_changes import MAX_CLOCK_SKEW
from delivery.mail.transactional_mail_texts import ISSUE_BY_KIND
from delivery.models import SuppressionChange
from delivery.provider.events import AddressReactivated
from delivery.queue.enqueue_transactional import requeue_inactive
from delivery.queue.short_transaction import short_transaction
from delivery.rules import delivery_key
from delivery.rules.delivery_key import key_prefix

# The limit BOUNCE_LIFTS_PER_MONTH counts the liftings of this many days.
DAYS = 30

# Lift once for each mail: a second refusal shows that lifting did not help. The provider never
# lifts a complaint or an unsubscribe.
_REQUEST = """
    INSERT INTO suppression_change (address, address_key, stream, change, delivery, delivery_waits)
    SELECT address, lower(address), stream, 'reactivate', key.delivery, true
    FROM unnest(%(recipients)s::bigint[]) AS wanted (recipient),
         -- By the whole key of each copy (delivery/queue/record_evidence.py).
         LATERAL (SELECT * FROM delivery
                  WHERE issue_id = %(issue)s AND version = %(version)s
                    AND recipient_id = wanted.recipient OFFSET 0) AS refused
         JOIN edition USING (issue_id, version),
         LATERAL (SELECT %(prefix)s || recipient_id AS delivery) AS key
    WHERE outcome = 'suppressed' AND address <> ''
      AND NOT EXISTS (
          SELECT FROM provider_suppression AS held
          WHERE held.address_key = lower(address) AND held.stream = edition.stream AND refuses
            AND (held.reason = 'SpamComplaint'
                 OR held.reason = 'ManualSuppression' AND held.origin = 'Recipient'))
      AND NOT EXISTS (
          SELECT FROM suppression_change AS earlier
          WHERE earlier.address_key = lower(address) AND earlier.delivery = key.delivery)
      AND (SELECT count(*) FROM suppression_change AS earlier
           WHERE earlier.address_key = lower(address) AND earlier.delivery <> ''
             AND requested_at > clock_timestamp() - make_interval(days => %(days)s)) < %(most)s
    ORDER BY recipient_id
"""

# Select the mails that wait no longer: no suppression change of their address and stream waits. The
# last change of the address decides, because it may have superseded earlier changes.
_SENT = """
    SELECT id, delivery, (
        SELECT last.change = 'reactivate' AND last.state = 'done' FROM suppression_change AS last
        WHERE last.address_key = mail.address_key AND last.stream = mail.stream
        ORDER BY last.id DESC LIMIT 1)
    FROM suppression_change AS mail
    WHERE delivery_waits AND NOT EXISTS (
        SELECT FROM suppression_change AS open
        WHERE open.address_key = mail.address_key AND open.stream = mail.stream
          AND open.state = 'waiting')
    ORDER BY id
"""


def request_lifting(kind: str, version: int, recipients: Sequence[int]) -> None:
    """Request to lift the suppressions of refused mails, within the limits.

    `recipients` are the readers whose `version`-th mail of this kind was refused. Runs in the
    caller's transaction.
    """
    issue = ISSUE_BY_KIND[kind]
    with connection.cursor() as cursor:
        cursor.execute(
            _REQUEST,
            {
                "prefix": key_prefix(issue, version),
                "issue": issue,
                "version": version,
                "recipients": list(recipients),
                "days": DAYS,
                "most": settings.BOUNCE_LIFTS_PER_MONTH,
            },
        )


def resend_lifted(is_stopping: Callable[[], bool] = lambda: False) -> None:
    """Queue mails again after the provider has lifted their suppressions.

    Every worker calls this function repeatedly. A mail stays suppressed if the provider refused to
    lift its suppression.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SENT)
        answered = cursor.fetchall()
    for change, delivery, is_lifted in answered:
        if is_stopping():
            return
        key = delivery_key.read(delivery)
        with short_transaction() as cursor:
            if is_lifted and key is not None:
                requeue_inactive(cursor, key)
            SuppressionChange.objects.filter(pk=change).update(delivery_waits=False)


def was_lifted_for_mail(event: AddressReactivated) -> bool:
    """Whether we requested this reactivation for a mail on request."""
    assert event.at is not None  # noqa: S101 -- received_by sets it
    ours = SuppressionChange.objects.filter(
        address_key=event.address_key, stream=event.stream, change="reactivate"
    ).exclude(delivery="")
    # The event may arrive before the answer to our request is recorded.
    is_answered = Q(done_at__gte=event.at - MAX_CLOCK_SKEW) | Q(done_at=None)
    return ours.filter(is_answered, requested_at__lte=event.at + MAX_CLOCK_SKEW).exists()
