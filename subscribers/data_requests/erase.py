"""
Erasing a person: the only place that takes everything away that is held about somebody.

What stays is a keyed hash of the address, by which an import knows to leave it out
(`erasure_hash.py`), and numbers: how many were sent an issue, not who.
"""

from __future__ import annotations

import logging

from django.db import connection, transaction
from django.db.models.functions import Lower

from delivery.interface import wait_for_enqueues
from delivery.retention.anonymise import anonymise_recipient, forget_address
from subscribers.data_requests.erasure_hash import hash_of
from subscribers.models import DataRequest, ImportAddressSeen, LeftOutRow, Subscriber

logger = logging.getLogger(__name__)


def erase(subscriber_id: int) -> bool:
    """
    Erase this person, all of it or nothing; False if nobody by this id is held.

    Their copies that wait do not go. The provider is told nothing: it would have to be told the
    address, and what it holds itself is for its own retention to end. Of the log and the caller's
    audit trail it is said by number alone.
    """
    with transaction.atomic():
        key = (
            Subscriber.objects.filter(id=subscriber_id).values_list("email_key", flat=True).first()
        )
        if key is None:
            return False
        # Before the person's row: a worker that answers a request locks both in this order.
        DataRequest.objects.filter(email_key=key).delete()
        wait_for_enqueues()
        # Copies before the person: that is the order in which a worker settles them.
        anonymise_recipient(subscriber_id, key)
        _take_off_imports(key)
        with connection.cursor() as cursor:
            cursor.execute("SELECT erase_subscriber(%s, %s)", [subscriber_id, hash_of(key)])
            (erased,) = cursor.fetchone()
        # Whoever held the person's row until now may have added to it: a mail on request, a change
        # that the provider is to be told. From here on nobody does.
        anonymise_recipient(subscriber_id, key)
        forget_address(key)
    if erased:
        logger.info("reader %d was erased", subscriber_id)
    return bool(erased)


def _take_off_imports(key: str) -> None:
    """Imports go on without what they had noted of this address."""
    # The import before its rows, as whoever drops it or begins it anew.
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE subscriber_import
               SET read_as = read_as || '{"first_row": null, "with_accents": []}'
             WHERE strpos(lower(concat(read_as -> 'first_row', read_as -> 'with_accents')), %s) > 0
            """,
            [key],
        )
    LeftOutRow.objects.alias(key=Lower("email")).filter(key__contains=key).update(email="")
    ImportAddressSeen.objects.filter(email_key=key).delete()
