"""
The keyed hash that is left of somebody who was erased: the only place that makes it.

BLAKE2b takes a key by itself (RFC 7693). The key comes from `SECRET_KEY` and serves this purpose
alone: without it nobody can tell whose hash it is, nor try addresses against it.
"""

from __future__ import annotations

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
    Which of these addresses belong to people who had themselves erased; as they were given.

    Also found are those that were erased under an earlier key (`SECRET_KEY_FALLBACKS`). At most
    two queries, however many there are.
    """
    if not Erasure.objects.exists():
        return set()
    whose = {
        _hashed(secret, address.lower()): address
        for address in addresses
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    }
    known = Erasure.objects.filter(address_hash__in=list(whose)).values_list(
        "address_hash", flat=True
    )
    return {whose[bytes(found)] for found in known}


@lru_cache(maxsize=8)
def _key(secret: str) -> bytes:
    """A key for this purpose alone, whatever the length of the secret."""
    return blake2b(secret.encode(), digest_size=32, person=b"erasure").digest()


def _hashed(secret: str, folded: str) -> bytes:
    return blake2b(folded.encode(), key=_key(secret), digest_size=HASH_BYTES).digest()
