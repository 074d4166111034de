"""Store requests of visitors to sign up, and queue the confirmation mail.

The answer is the same whether an address is on the list or not, so that visitors cannot find out
who is on the list.
"""

from collections.abc import Mapping, Sequence

from django.db import transaction

from delivery.models import Edition
from delivery.reader_fields import FIELD_NAMES
from subscribers.consent.consent_log import TOO_FAST
from subscribers.models import Subscriber
from subscribers.models.consent_record import Act
from subscribers.request_limits import ask_for_mail, seconds_until_turn

TRIES = 5  # a reader can be deleted between the insert and the lock


def sign_up(
    address: str,
    values: Mapping[str, str],
    how: str,
    network: str,
    wording: str,
    *,
    tags: Sequence[int] = (),
    is_suspicious: bool = False,
) -> int:
    """Store the request and queue its mail; return the seconds to wait, or 0."""
    with transaction.atomic():
        wait = seconds_until_turn(network, is_suspicious)
        if wait:
            return wait
        reader = _locked_reader(address, values)
        detail = TOO_FAST if is_suspicious else ""
        consent = {"network": network, "wording": wording, "values": values, "detail": detail}
        ask_for_mail(reader, Edition.Kind.CONFIRMATION, Act.ASKED, how, tags=[*tags], **consent)
    return 0


def _locked_reader(address: str, values: Mapping[str, str]) -> Subscriber:
    # The values of the author's own fields are stored in the consent record until the reader
    # confirms.
    columns = {name: values.get(name, "") for name in FIELD_NAMES}
    for _ in range(TRIES):
        new = Subscriber(email=address, **columns)
        Subscriber.objects.bulk_create([new], ignore_conflicts=True)
        of_this_address = Subscriber.objects.filter(email_key=address.lower())
        if (reader := of_this_address.select_for_update().first()) is not None:
            return reader
    raise LookupError("The reader with this address was deleted again and again.")
