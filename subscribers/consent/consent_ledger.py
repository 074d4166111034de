"""The ledger of consent: the only place that adds to it."""

from __future__ import annotations

import hashlib
from datetime import datetime

from subscribers.models import ConsentRecord, ConsentWording


def record(
    subscriber_id: int,
    act: str,
    how: str,
    *,
    at: datetime | None = None,
    network: str = "",
    wording: str = "",
    request: int | None = None,
    name: str = "",
    detail: str = "",
) -> int:
    """
    Add one line in the caller's transaction; its id.

    `act` and `how` are `consent_record.Act` and `How`. `at` is for what happened elsewhere before
    (the provider told of it); otherwise the database's clock says. `wording` is the text that the
    person saw beside the button.
    """
    when = {} if at is None else {"at": at}
    line = ConsentRecord.objects.create(
        subscriber_id=subscriber_id,
        act=act,
        how=how,
        network=network,
        wording_id=_kept(wording) if wording else None,
        request=request,
        name=name,
        detail=detail,
        **when,
    )
    return line.pk


def _kept(text: str) -> int:
    """The id of a wording, kept now if it is new."""
    text_hash = hashlib.sha256(text.encode()).digest()
    known = ConsentWording.objects.filter(text_hash=text_hash).values_list("id", flat=True)
    if (earlier := known.first()) is None:
        ConsentWording.objects.bulk_create(
            [ConsentWording(text_hash=text_hash, text=text)], ignore_conflicts=True
        )
        earlier = known.get()
    return earlier
