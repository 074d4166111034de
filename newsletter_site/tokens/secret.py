"""
The token itself: how it is made, what it looks like, and the hash that is kept of it. Pure.

It begins with a word by which programs that look for leaked secrets know it, and ends with a check
sum: what was mistyped, cut off or guessed is told apart without asking the database.
"""

from __future__ import annotations

import hashlib
import re
import zlib

PREFIX = "homing_"
RANDOM_BYTES = 32
# Of a token so much is kept to be shown, so that its owner knows which one it is.
SHOWN = len(PREFIX) + 4

_FORM = re.compile(r"homing_([A-Za-z0-9_-]{43})([0-9a-f]{8})")


def token_of(random: str) -> str:
    """The token around 43 random characters (`secrets.token_urlsafe(RANDOM_BYTES)`)."""
    return f"{PREFIX}{random}{_check_sum(random)}"


def is_well_formed(token: str) -> bool:
    """Whether this could be a token at all."""
    found = _FORM.fullmatch(token)
    return found is not None and found[2] == _check_sum(found[1])


def hash_of(token: str) -> bytes:
    """What is kept of a token: 32 bytes."""
    return hashlib.sha256(token.encode()).digest()


def _check_sum(random: str) -> str:
    return f"{zlib.crc32(random.encode()):08x}"
