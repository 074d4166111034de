"""
The token of an unsubscribe link: the only place that makes and reads it.

It says nothing, not even how many readers there are: the reader's number is in it, but hidden by a
key and bound to a tag, so that nobody can read it, make one up, or make one reader leave with the
link of another. The construction is that of a synthetic IV (RFC 5297): the tag is a keyed hash of
the number, and the number is covered by a keyed hash of the tag. The hash is BLAKE2b, which takes a
key by itself (RFC 7693) and is the quickest at hand: a token is made for every copy of an issue.

A token works for as long as its key is known (`SECRET_KEY` or one of `SECRET_KEY_FALLBACKS`) and
does not run out: a letter may be opened years after it came.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from hashlib import blake2b

from django.conf import settings

# 13 and 8 bytes: 104 bits that nobody guesses, a bigint, and together whole base-64 characters.
TAG_BYTES = 13
NUMBER_BYTES = 8
TOKEN = re.compile(r"[A-Za-z0-9_-]{28}")


def token_for(subscriber_id: int) -> str:
    """The token of this reader; the same one every time. 28 characters, URL-safe."""
    key = _key(settings.SECRET_KEY)
    number = subscriber_id.to_bytes(NUMBER_BYTES, "big")
    tag = _tag(key, number)
    return urlsafe_b64encode(tag + _covered(key, tag, number)).decode("ascii")


def read(token: str) -> int | None:
    """The reader's id, or None if we never gave out this token."""
    if not TOKEN.fullmatch(token):
        return None
    sealed = urlsafe_b64decode(token)
    tag, covered = sealed[:TAG_BYTES], sealed[TAG_BYTES:]
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        key = _key(secret)
        number = _covered(key, tag, covered)
        if hmac.compare_digest(tag, _tag(key, number)):
            return int.from_bytes(number, "big")
    return None


@lru_cache(maxsize=8)
def _key(secret: str) -> bytes:
    """A key for this purpose alone, whatever the length of the secret."""
    return blake2b(secret.encode(), digest_size=32, person=b"unsubscribe").digest()


def _tag(key: bytes, number: bytes) -> bytes:
    return blake2b(number, key=key, digest_size=TAG_BYTES, person=b"tag").digest()


def _covered(key: bytes, tag: bytes, number: bytes) -> bytes:
    """Cover the number, or uncover it: the same step twice."""
    cover = blake2b(tag, key=key, digest_size=NUMBER_BYTES, person=b"cover").digest()
    covered = int.from_bytes(cover, "big") ^ int.from_bytes(number, "big")
    return covered.to_bytes(NUMBER_BYTES, "big")
