"""
Requests for the record of an address, and the mails that answer them.

Anybody can type an address, and only its owner gets the mail. The request does the same work for
every address, so neither the answer nor its time says who is on the list. A worker looks the
address up afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models.functions import Now

from delivery.models import Edition
from delivery.queue.mail_on_request import request_mail
from delivery.queue.pieces import LONGEST_WAIT_S
from subscribers import consent, request_token
from subscribers.models import ConsentRecord, DataRequest, Subscriber
from subscribers.models.consent_record import Act, How
from subscribers.requests_for_mail import NOT_MAILED, RECORD, next_number, seconds_until_turn

LINK_DAYS = 7
# Requests that one call answers.
AT_ONCE = 200
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
    Store a request for a worker and return 0, or return the seconds to wait.

    A network has to wait if too many asked from it within the hour. Sign-ups count too. Every
    statement is the same for every address.
    """
    with transaction.atomic():
        wait = seconds_until_turn(network)
        if not wait:
            DataRequest.objects.create(email_key=address.lower(), network=network)
    return wait


def are_waiting() -> bool:
    """Return whether any request waits for its answer."""
    return DataRequest.objects.exists()


def answer_waiting(at_once: int = AT_ONCE) -> int:
    """
    Answer up to `at_once` requests, the oldest first; return how many.

    Any number of workers may do it at once. Each request and its mail are one transaction. Raises
    `OperationalError` if somebody holds a reader's row for longer than `LONGEST_WAIT_S` seconds.
    """
    answered = 0
    while answered < at_once and _answer_next():
        answered += 1
    return answered


def _answer_next() -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LONGEST_WAIT_S}s'")
        cursor.execute(
            """
            DELETE FROM data_request WHERE id = (
                SELECT id FROM data_request ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING email_key, network, asked_at
            """
        )
        request = cursor.fetchone()
        if request is None:
            return False
        address, network, asked_at = request
        reader = Subscriber.objects.select_for_update().filter(email_key=address).first()
        if reader is None:
            _count_for_the_network(cursor, network, asked_at)
            return True
        number = next_number(reader, RECORD)
        consent.record(
            reader.pk, Act.RECORD_ASKED, How.FORM, at=asked_at, network=network, request=number
        )
        if number != NOT_MAILED:
            request_mail(Edition.Kind.RECORD, number, [(reader.pk, reader.email)], ahead=True)
    return True


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


def _count_for_the_network(cursor: CursorWrapper, network: str, asked_at: datetime) -> None:
    """Count an unknown address too, or the limit would show who is a reader."""
    cursor.execute(
        """
        DELETE FROM consent_record
         WHERE subscriber_id = %s AND at < clock_timestamp() - interval '1 day'
        """,
        [NOBODY],
    )
    if network:
        consent.record(
            NOBODY,
            Act.RECORD_ASKED,
            How.FORM,
            at=asked_at,
            network=network,
            request=NOT_MAILED,
        )
