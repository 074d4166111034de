"""Erase a reader. A keyed hash of the address stays, by which an import skips it, and counts."""

import logging

from django.db import connection, transaction
from django.db.models.functions import Lower

from delivery.interface import wait_for_enqueues
from delivery.retention.anonymise import anonymise_recipient, forget_address
from subscribers.data_requests.erasure_hash import hash_of
from subscribers.models import DataRequest, ImportSeenAddress, RejectedRow, Subscriber

logger = logging.getLogger(__name__)


def erase(subscriber_id: int) -> bool:
    """Erase this reader, all of it or nothing; False if there is none."""
    with transaction.atomic():
        readers = Subscriber.objects.filter(id=subscriber_id)
        key = readers.values_list("email_key", flat=True).first()
        if key is None:
            return False
        # Before the person's row: a worker that answers a request locks both in this order.
        DataRequest.objects.filter(email_key=key).delete()
        wait_for_enqueues()
        # Copies before the person: that is the order in which a worker settles them.
        anonymise_recipient(subscriber_id, key)
        _remove_from_imports(key)
        with connection.cursor() as cursor:
            cursor.execute("SELECT erase_subscriber(%s, %s)", [subscriber_id, hash_of(key)])
            (erased,) = cursor.fetchone()
        # Whoever held the person's row until now may have queued a mail or a change.
        anonymise_recipient(subscriber_id, key)
        forget_address(key)
    if erased:
        logger.info("reader %d was erased", subscriber_id)
    return bool(erased)


def _remove_from_imports(key: str) -> None:
    # The import before its rows: discarding and restarting one lock in this order.
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE subscriber_import
               SET read_as = read_as || '{"examples": []}'
             WHERE strpos(lower(read_as ->> 'examples'), %s) > 0
            """,
            [key],
        )
    RejectedRow.objects.alias(key=Lower("email")).filter(key__contains=key).update(email="")
    ImportSeenAddress.objects.filter(email_key=key).delete()
