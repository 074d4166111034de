"""
The token of an unsubscribe link: the only place that makes and reads it.

It holds the reader's number and a signature. It says nothing about the person, works for as long
as the key that signed it is known (`SECRET_KEY` or one of `SECRET_KEY_FALLBACKS`), and does not
run out: a letter may be opened years after it came. Any other number needs another signature, so
nobody can make one reader leave with the link of another.
"""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.core.signing import BadSignature, Signer, b62_decode, b62_encode

# Django's signature is 43 characters, a bigint in base 62 at most 11, and a dot.
LONGEST_TOKEN = 55


def token_for(subscriber_id: int) -> str:
    """The token of this reader; the same one every time. About 46 characters, URL-safe."""
    return _current_signer().sign(b62_encode(subscriber_id))


def read(token: str) -> int | None:
    """The reader's id, or None if we never gave out this token."""
    if len(token) > LONGEST_TOKEN:
        return None
    try:
        return int(b62_decode(_current_signer().unsign(token)))
    except BadSignature:
        return None


def _current_signer() -> Signer:
    return _signer(settings.SECRET_KEY, tuple(settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=4)
def _signer(key: str, fallbacks: tuple[str, ...]) -> Signer:
    """Built once for each key: a token is made for every copy of an issue."""
    return Signer(key=key, fallback_keys=list(fallbacks), salt="unsubscribe", sep=".")
