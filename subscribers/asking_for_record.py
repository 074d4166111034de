"""
Asking for the record: the only place that sends somebody the way to what is held about them.

Whoever knows an address may ask, and only whoever reads its mail gets there. The person who asks is
told the same whether the address is on the list or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.models import Edition
from delivery.queue.mail_on_request import request_mail
from subscribers import consent, request_token
from subscribers.models import ConsentRecord, Subscriber
from subscribers.models.consent_record import Act, How
from subscribers.requests_for_mail import NOT_MAILED, RECORD, next_number, seconds_until_turn

LINK_DAYS = 7
# Whose line it is where the address is nobody's: it counts for the network and names nobody.
NOBODY = 0


class Standing(Enum):
    """What a link to a record leads to."""

    OPEN = "open"
    STALE = "stale"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Link:
    """A link that we once gave out."""

    subscriber_id: int
    standing: Standing


def ask(address: str, network: str) -> int:
    """
    Have a mail with the way to their record sent to whoever has this address; 0.

    Or do nothing because too many asked from the same network within the hour: the seconds that it
    has to wait. Sign-ups and these count together. Nothing that is returned depends on the address.
    """
    with transaction.atomic():
        wait = seconds_until_turn(network)
        if wait:
            return wait
        reader = Subscriber.objects.select_for_update().filter(email_key=address.lower()).first()
        if reader is None:
            _note_that_nobody_was_asked_about(network)
            return 0
        number = next_number(reader, RECORD)
        consent.record(reader.pk, Act.RECORD_ASKED, How.FORM, network=network, request=number)
        if number != NOT_MAILED:
            request_mail(Edition.Kind.RECORD, number, [(reader.pk, reader.email)], ahead=True)
    return 0


def link_of(token: str) -> Link | None:
    """What this link leads to now; None if we never gave it out."""
    request = request_token.read(Edition.Kind.RECORD, token)
    if request is None:
        return None
    if not Subscriber.objects.filter(id=request.recipient).exists():
        return Link(request.recipient, Standing.NOBODY)
    fresh = ConsentRecord.objects.filter(
        subscriber=request.recipient,
        act=Act.RECORD_ASKED,
        request=request.number,
        at__gt=Now() - timedelta(days=LINK_DAYS),
    ).exists()
    return Link(request.recipient, Standing.OPEN if fresh else Standing.STALE)


def _note_that_nobody_was_asked_about(network: str) -> None:
    """Otherwise a network would be let through for ever, but only with addresses of strangers."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM consent_record
             WHERE subscriber_id = %s AND at < clock_timestamp() - interval '1 day'
            """,
            [NOBODY],
        )
    if network:
        consent.record(NOBODY, Act.RECORD_ASKED, How.FORM, network=network, request=NOT_MAILED)
