"""
The keyed hash that is left of a reader who was erased.

BLAKE2b takes a key (RFC 7693). The key comes from `SECRET_KEY` and is for this purpose only;
without it nobody can tell whose hash it is, nor try addresses against it.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

from django.conf import settings

from subscribers.models import Erasure

HASH_BYTES = 32


def hash_of(address: str) -> bytes:
    """What is kept of an address, under the key of today. However its letters are written."""
    return _hashed(settings.SECRET_KEY, address.lower())


def erased_among(addresses: Iterable[str]) -> set[str]:
    """
    Return the addresses, as they were given, whose owners were erased.

    Keys of `SECRET_KEY_FALLBACKS` count too. At most two queries for any number of addresses.
    """
    if not Erasure.objects.exists():
        return set()
    by_hash = {
        _hashed(secret, address.lower()): address
        for address in addresses
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    }
    known = Erasure.objects.filter(address_hash__in=list(by_hash)).values_list(
        "address_hash", flat=True
    )
    return {by_hash[bytes(found)] for found in known}


@lru_cache(maxsize=8)
def _key(secret: str) -> bytes:
    """A key for this purpose alone, whatever the length of the secret."""
    return blake2b(secret.encode(), digest_size=32, person=b"erasure").digest()


def _hashed(secret: str, folded: str) -> bytes:
    return blake2b(folded.encode(), key=_key(secret), digest_size=HASH_BYTES).digest()
