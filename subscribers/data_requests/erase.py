"""Erasure of readers.

After an erasure, only a keyed hash of the address stays. An import recognises an erased address by
this hash, and skips the address.
"""

import logging
from collections.abc import Iterable
from hashlib import blake2b

from django.conf import settings
from django.db import connection, transaction

from delivery.interface import wait_for_enqueues
from delivery.retention.anonymise import anonymise_recipient, delete_provider_data
from subscribers.data_requests.rejected_rows import forget_in_imports
from subscribers.links.sealed_token import purpose_key
from subscribers.models import DataRequest, Erasure, ImportSeenAddress, Subscriber

logger = logging.getLogger(__name__)

HASH_BYTES = 32


def erase(subscriber_id: int) -> bool:
    """Erase this reader in one transaction; return False if no reader has this id."""
    with transaction.atomic():
        readers = Subscriber.objects.filter(id=subscriber_id)
        key = readers.values_list("email_key", flat=True).first()
        if key is None:
            return False
        # Lock the data requests before the reader, as the worker that answers data requests does.
        DataRequest.objects.filter(email_key=key).delete()
        wait_for_enqueues()
        # Lock the deliveries before the reader, as a worker that settles deliveries does.
        anonymise_recipient(subscriber_id, key)
        forget_in_imports(key)
        ImportSeenAddress.objects.filter(email_key=key).delete()
        with connection.cursor() as cursor:
            cursor.execute("SELECT erase_subscriber_1(%s, %s)", [subscriber_id, hash_of(key)])
            (erased,) = cursor.fetchone()
        # Do this a second time. Before the reader's row was locked here, another transaction may
        # have queued a mail to the reader, or a change of the provider's list.
        anonymise_recipient(subscriber_id, key)
        delete_provider_data(key)
    if erased:
        logger.info("reader %d was erased", subscriber_id)
    return bool(erased)


def hash_of(address: str) -> bytes:
    """Hash an address with the current key, ignoring upper and lower case."""
    return _hashed(settings.SECRET_KEY, address.lower())


def erased_among(addresses: Iterable[str]) -> set[str]:
    """Return the addresses in `addresses` that belonged to erased readers.

    The addresses are hashed with every accepted key, because a stored hash may have been made with
    any of these keys.
    """
    if not Erasure.objects.exists():
        return set()
    by_hash = {
        _hashed(secret, address.lower()): address
        for address in addresses
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    }
    known = Erasure.objects.filter(address_hash__in=list(by_hash))
    return {by_hash[bytes(erasure.address_hash)] for erasure in known}


def _hashed(secret: str, folded: str) -> bytes:
    key = purpose_key(secret, "erasure")
    return blake2b(folded.encode(), key=key, digest_size=HASH_BYTES).digest()
