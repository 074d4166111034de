"""
Signing up: the only place that puts a person's own wish for the letter on record.

The request, its line in the ledger and the mail that asks for confirmation are one transaction:
all of it is there afterwards, or nothing. Nothing that the caller gets to know depends on who the
address belongs to or what became of them before.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from delivery.interface import request_mail
from delivery.models import Edition
from subscribers.consent import consent_ledger
from subscribers.mail_quota import (
    CONFIRMATION,
    NOT_MAILED,
    TOO_FAST,
    next_number,
    seconds_until_turn,
)
from subscribers.models import Subscriber
from subscribers.models.consent_record import Act

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
        number = next_number(reader, CONFIRMATION)
        consent_ledger.record(
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
