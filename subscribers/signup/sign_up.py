"""Sign up. Nothing that the caller learns depends on whose address it is or what became of it."""

from collections.abc import Mapping

from django.db import transaction

from delivery.interface import request_mail
from delivery.models import Edition
from subscribers.consent.consent_log import record_consent
from subscribers.models import Subscriber
from subscribers.models.consent_record import Act
from subscribers.request_limits import (
    CONFIRMATION,
    NOT_MAILED,
    TOO_FAST,
    next_number,
    seconds_until_turn,
)

TRIES = 5  # a reader can be deleted between the insert and the lock; not often


def sign_up(
    address: str,
    values: Mapping[str, str],
    how: str,
    network: str,
    wording: str,
    *,
    is_suspicious: bool = False,
) -> int:
    """Store the request, queue its mail and return 0, or the seconds that the network must wait."""
    with transaction.atomic():
        wait = seconds_until_turn(network, is_suspicious)
        if wait:
            return wait
        reader = _locked_reader(address, values)
        number = next_number(reader, CONFIRMATION)
        record_consent(
            reader.pk,
            Act.ASKED,
            how,
            network=network,
            wording=wording,
            request=number,
            values=values,
            detail=TOO_FAST if is_suspicious else "",
        )
        if number != NOT_MAILED:
            request_mail(Edition.Kind.CONFIRMATION, number, [(reader.pk, reader.email)], ahead=True)
    return 0


def _locked_reader(address: str, values: Mapping[str, str]) -> Subscriber:
    for _ in range(TRIES):
        Subscriber.objects.bulk_create([Subscriber(email=address, **values)], ignore_conflicts=True)
        of_this_address = Subscriber.objects.filter(email_key=address.lower())
        if (reader := of_this_address.select_for_update().first()) is not None:
            return reader
    raise LookupError("The reader of this address was deleted again and again.")
