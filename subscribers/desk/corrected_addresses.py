"""The other addresses of a reader whose address an author corrected."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from subscribers.consent.consent_log import ADDRESS_CORRECTED
from subscribers.desk.reader_filter import read_number
from subscribers.models import Subscriber
from subscribers.models.consent_record import Act

_LARGEST = 2**63 - 1


class OtherAddress(NamedTuple):
    """The reader with the earlier or the later address."""

    reader: Subscriber
    is_later: bool


def load_other_addresses(consent: Iterable[Mapping[str, Any]]) -> list[OtherAddress]:
    """Load the other readers that a reader's consent records name.

    The record of leaving names the later address, and the record of asking names the earlier one.
    Erased readers are left out.
    """
    named = {
        read_number(str(entry["detail"]).removeprefix(ADDRESS_CORRECTED), _LARGEST): entry["act"]
        for entry in consent
        if str(entry["detail"]).startswith(ADDRESS_CORRECTED)
    }
    readers = Subscriber.objects.filter(pk__in=[pk for pk in named if pk is not None])
    return [OtherAddress(one, named[one.pk] == Act.LEFT) for one in readers.order_by("pk")]
