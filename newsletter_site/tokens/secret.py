"""The token itself, with its prefix and check sum. Its hash is enough: it has 256 random bits."""

import hashlib
import re
import zlib

PREFIX = "homing_"
RANDOM_BYTES = 32
# The first characters are shown, so that its owner recognises a token.
PREFIX_LENGTH = len(PREFIX) + 4

_FORM = re.compile(r"homing_([A-Za-z0-9_-]{43})([0-9a-f]{8})")


def build_token(random: str) -> str:
    """Build the token around 43 random characters (`secrets.token_urlsafe(RANDOM_BYTES)`)."""
    return f"{PREFIX}{random}{_check_sum(random)}"


def is_well_formed(token: str) -> bool:
    """Whether this could be a token at all."""
    found = _FORM.fullmatch(token)
    return found is not None and found[2] == _check_sum(found[1])


def hash_token(token: str) -> bytes:
    """Return the 32 bytes that the table has of a token."""
    return hashlib.sha256(token.encode()).digest()


def _check_sum(random: str) -> str:
    return f"{zlib.crc32(random.encode()):08x}"
