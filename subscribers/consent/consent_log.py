"""The log of consent: when and how each reader's consent changed.

Some details are stored as codes and shown as sentences.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from delivery.reader_fields import FIELD_NAMES
from subscribers.models import ConsentRecord, ConsentWording

TOO_FAST = "too_fast"
REFUSED_ON_SENDING = "refused_on_sending"
FILE_SAYS = "file_says_"  # in the stored code, the status follows
ADDRESS_CORRECTED = "address_corrected:"  # in the stored code, the other reader's id follows

_SENTENCES: Mapping[str, Promise] = {
    TOO_FAST: _("The form was returned faster than anyone can type."),
    REFUSED_ON_SENDING: _("The mail provider refused a mail to this address."),
    f"{FILE_SAYS}unsubscribed": _("According to the imported file, the reader unsubscribed."),
    f"{FILE_SAYS}bounced": _("According to the imported file, mail to the reader bounced."),
    f"{FILE_SAYS}complained": _(
        "According to the imported file, the reader marked a letter as spam."
    ),
    f"{FILE_SAYS}blocked": _("According to the imported file, the reader must not be mailed."),
}


def record_consent(
    subscriber_id: int,
    act: str,
    how: str,
    *,
    at: datetime | None = None,
    wording: str = "",
    values: Mapping[str, str] | None = None,
    **columns: Any,
) -> int:
    """Add a record in this transaction and return its id; `at` defaults to now."""
    columns |= {"act": act, "how": how, **columns_of(values or {})}
    columns |= {} if at is None else {"at": at}
    wording_id = _wording_id(wording) if wording else None
    record = ConsentRecord(subscriber_id=subscriber_id, wording_id=wording_id, **columns)
    record.save(force_insert=True)
    return record.pk


def columns_of(values: Mapping[str, str]) -> dict[str, Any]:
    """Return a reader's values as columns: the name, and a dict of the other fields."""
    own = {key: value for key, value in values.items() if value and key not in FIELD_NAMES}
    return {name: values[name] for name in FIELD_NAMES if name in values} | {"fields": own}


def count_acts_since(at: datetime) -> Mapping[str, int]:
    """Count the records since `at` by act; an act without records gets no count."""
    records = ConsentRecord.objects.filter(at__gte=at).order_by().values_list("act")
    return dict(records.annotate(Count("id")))


def _wording_id(text: str) -> int:
    text_hash = hashlib.sha256(text.encode()).digest()
    known = ConsentWording.objects.filter(text_hash=text_hash).values_list("id", flat=True)
    if (earlier := known.first()) is None:
        ConsentWording.objects.bulk_create(
            [ConsentWording(text_hash=text_hash, text=text)], ignore_conflicts=True
        )
        earlier = known.get()
    return earlier


def sentence_of(detail: str) -> str:
    """Return the sentence for a detail; a detail stored as text is returned unchanged."""
    if detail.startswith(ADDRESS_CORRECTED):
        sentence = gettext("An author corrected the address. The other address is reader {number}.")
        return sentence.format(number=detail.removeprefix(ADDRESS_CORRECTED))
    return str(_SENTENCES.get(detail, detail))
