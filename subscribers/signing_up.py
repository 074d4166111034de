"""
Signing up: the only place that puts a person's own wish for the letter on record.

The request, its line in the ledger and the mail that asks for confirmation are one transaction:
all of it is there afterwards, or nothing. Nothing that the caller gets to know depends on who the
address belongs to or what became of them before.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from django.conf import settings
from django.db import connection, transaction

from delivery.models import Edition
from delivery.queue.mail_on_request import request_mail
from subscribers import consent
from subscribers.models import Subscriber
from subscribers.models.consent_record import Act
from subscribers.sign_up_limits import DAY_S, HOUR_S, Asked, may_be_mailed, seconds_to_wait

# Stands in the ledger at a request whose form came back too fast, and is counted there.
TOO_FAST = "the form came back faster than a person fills it in"
# The number of a request that no mail answers, because of the day's limit.
NOT_MAILED = 0
# Somebody can be deleted between finding out that they are there and looking at them; not often.
TRIES = 5


@dataclass(frozen=True, slots=True)
class Wish:
    """What one person asked for, and how it came."""

    address: str
    name: str
    how: str
    network: str
    wording: str
    suspicious: bool = False


def sign_up(wish: Wish) -> int:
    """
    Put the wish on record and queue its confirmation mail; 0.

    Or do nothing because too many came from the same network within the hour: the seconds that it
    has to wait. Raises nothing that depends on the address.
    """
    with transaction.atomic():
        wait = seconds_until_turn(wish.network, wish.suspicious)
        if wait:
            return wait
        reader = _locked(wish)
        number = _next_number(reader)
        consent.record(
            reader.pk,
            Act.ASKED,
            wish.how,
            network=wish.network,
            wording=wish.wording,
            request=number,
            name=wish.name,
            detail=TOO_FAST if wish.suspicious else "",
        )
        if number != NOT_MAILED:
            request_mail(Edition.Kind.CONFIRMATION, number, [(reader.pk, reader.email)], ahead=True)
    return 0


def seconds_until_turn(network: str, suspicious: bool = False) -> int:
    """
    How long this network must wait before it may ask for mail again; 0 if it may now.

    Holds the network's turn until the caller's transaction ends, so that twenty who come at once
    are counted one after the other. Where the network is not known nobody waits.
    """
    if not network:
        return 0
    per_hour = settings.SIGN_UPS_PER_HOUR
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_turn_of(network)])
        cursor.execute(
            """
            SELECT extract(epoch FROM clock_timestamp() - at)::float8, detail
              FROM consent_record
             WHERE network = %s AND act IN ('asked', 'record asked')
               AND at > clock_timestamp() - make_interval(secs => %s)
             ORDER BY at DESC LIMIT %s
            """,
            [network, HOUR_S, per_hour],
        )
        asked = [Asked(seconds_ago, detail == TOO_FAST) for seconds_ago, detail in cursor]
    return seconds_to_wait(asked, suspicious, per_hour)


def _locked(wish: Wish) -> Subscriber:
    """The person of this address, added now if nobody has it, and locked."""
    for _ in range(TRIES):
        Subscriber.objects.bulk_create(
            [Subscriber(email=wish.address, name=wish.name)], ignore_conflicts=True
        )
        of_this_address = Subscriber.objects.filter(email_key=wish.address.lower())
        if (reader := of_this_address.select_for_update().first()) is not None:
            return reader
    raise LookupError("The person of this address was deleted again and again.")


def mails_within_a_day(subscriber_id: int) -> int:
    """How many mails of either kind, to confirm and to see their record, a person was sent so."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*) FROM consent_record
             WHERE subscriber_id = %s AND act IN ('asked', 'imported', 'record asked')
               AND request > 0 AND at > clock_timestamp() - make_interval(secs => %s)
            """,
            [subscriber_id, DAY_S],
        )
        return int(cursor.fetchone()[0])


def _next_number(reader: Subscriber) -> int:
    """The number of this request, counted now; `NOT_MAILED` above the day's limit."""
    if not may_be_mailed(mails_within_a_day(reader.pk), settings.SIGN_UP_MAILS_PER_DAY):
        return NOT_MAILED
    reader.requests += 1
    reader.save(update_fields=["requests"])
    return reader.requests


def _turn_of(network: str) -> int:
    """The number of the advisory lock of this network: signed, 64 bits."""
    digest = blake2b(network.encode(), digest_size=8, person=b"sign-up").digest()
    return int.from_bytes(digest, "big", signed=True)
