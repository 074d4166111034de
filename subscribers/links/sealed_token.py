"""Sealed tokens: encrypted and authenticated numbers in links.

The scheme is a synthetic IV (RFC 5297) with BLAKE2b (RFC 7693). BLAKE2b is the fastest hash
available, which matters because every delivery needs a token. A token never expires: the page
behind the link decides whether the link still works.
"""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from django.conf import settings

LEAST_TAG_BYTES = 12  # nobody can guess 96 bits, even if each guess is tried as a few tokens
LONGEST_DAMAGED = 200  # only this number of characters of a damaged token are read
TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def seal_all(purpose: str, payloads: Sequence[bytes]) -> list[str]:
    """Make a URL-safe token for each payload, in their order.

    Equal payloads get equal tokens. All payloads have the same length, which is at most 64 bytes.
    `purpose` has at most 16 bytes.
    """
    if not payloads:
        return []
    size = len(payloads[0])
    key, tag_bytes = purpose_key(settings.SECRET_KEY, purpose), _tag_bytes(size)
    begun_tag, begun_cover = _begun(key, b"tag", tag_bytes), _begun(key, b"cover", size)
    parts = []
    for payload in payloads:
        tag, cover = begun_tag.copy(), begun_cover.copy()
        tag.update(payload)
        parts.append(tag.digest())
        cover.update(parts[-1])
        parts.append(cover.digest())
    # Encrypt and encode all tokens together, which is faster. Each token fills whole base-64
    # characters, so the text can be cut into tokens.
    blank = bytes(tag_bytes)
    sealed = _xor(b"".join(parts), blank + blank.join(payloads))
    text = urlsafe_b64encode(sealed).decode("ascii")
    length = (tag_bytes + size) // 3 * 4
    return [text[start : start + length] for start in range(0, len(text), length)]


def unseal(purpose: str, text: str, payload_bytes: int) -> bytes | None:
    """Return the payload of the token in a text; None if no key of `purpose` fits.

    Characters that mail programs and people add to links are ignored.
    """
    tag_bytes = _tag_bytes(payload_bytes)
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    for token in _tokens_in(text, (tag_bytes + payload_bytes) // 3 * 4):
        sealed = urlsafe_b64decode(token)
        tag, covered = sealed[:tag_bytes], sealed[tag_bytes:]
        for key in (purpose_key(secret, purpose) for secret in secrets):
            payload = _covered(key, tag, covered)
            if hmac.compare_digest(tag, _tag(key, payload)):
                return payload
    return None


def _tokens_in(text: str, length: int) -> Iterable[str]:
    """Return the possible tokens in damaged texts such as `TOK)`, `3DTOK`, `TO=K`."""
    runs = TOKEN.findall(text[:LONGEST_DAMAGED])
    longest, joined = max(runs, key=len, default=""), "".join(runs)
    ends = (longest[:length], longest[-length:], joined[:length], joined[-length:])
    return dict.fromkeys(token for token in ends if len(token) == length)


def _tag_bytes(payload_bytes: int) -> int:
    """Return the length of the tag that makes tag and payload a multiple of 3 bytes."""
    return LEAST_TAG_BYTES + -(LEAST_TAG_BYTES + payload_bytes) % 3


@lru_cache(maxsize=32)
def purpose_key(secret: str, purpose: str) -> bytes:
    """Derive the key of a purpose from a secret of any length."""
    return blake2b(secret.encode(), digest_size=32, person=purpose.encode()).digest()


@lru_cache(maxsize=32)
def _begun(key: bytes, person: bytes, digest_size: int) -> blake2b:
    """Prepare a keyed hash to copy for each token: setting the key is half the work."""
    return blake2b(key=key, digest_size=digest_size, person=person)


def _tag(key: bytes, payload: bytes) -> bytes:
    tag = _begun(key, b"tag", _tag_bytes(len(payload))).copy()
    tag.update(payload)
    return tag.digest()


def _covered(key: bytes, tag: bytes, payload: bytes) -> bytes:
    """Encrypt or decrypt the payload; the XOR step is the same for both."""
    cover = _begun(key, b"cover", len(payload)).copy()
    cover.update(tag)
    return _xor(cover.digest(), payload)


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(len(one), "big")
