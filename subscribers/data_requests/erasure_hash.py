"""The hash that is left of an erased reader: BLAKE2b (RFC 7693), keyed from `SECRET_KEY`."""

from collections.abc import Iterable
from hashlib import blake2b

from django.conf import settings

from subscribers.links.sealed_token import purpose_key
from subscribers.models import Erasure

HASH_BYTES = 32


def hash_of(address: str) -> bytes:
    """The keyed hash of an address under the current key, whatever its letter case."""
    return _hashed(settings.SECRET_KEY, address.lower())


def erased_among(addresses: Iterable[str]) -> set[str]:
    """Return those of the addresses whose owners were erased, under any accepted key."""
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
    return blake2b(
        folded.encode(), key=purpose_key(secret, "erasure"), digest_size=HASH_BYTES
    ).digest()
