"""The log of consent: what happened to a reader's consent, when and how."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from django.db.models import Count

from subscribers.models import ConsentRecord, ConsentWording


def record_consent(
    subscriber_id: int,
    act: str,
    how: str,
    *,
    at: datetime | None = None,
    network: str = "",
    wording: str = "",
    request: int | None = None,
    values: Mapping[str, str] | None = None,
    detail: str = "",
) -> int:
    """Add one record in this transaction, by default at the database's time; return its id."""
    when = {} if at is None else {"at": at}
    record = ConsentRecord.objects.create(
        subscriber_id=subscriber_id,
        act=act,
        how=how,
        network=network,
        wording_id=_wording_id(wording) if wording else None,
        request=request,
        detail=detail,
        **(values or {}),
        **when,
    )
    return record.pk


def count_acts_since(at: datetime) -> Mapping[str, int]:
    """Count the records of each act since then; acts without any are left out."""
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
