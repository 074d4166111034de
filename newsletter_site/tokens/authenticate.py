"""Build tokens with a prefix and a check sum, and find their callers by hash."""

import hashlib
import re
import zlib

from django.db import connection

from api.bearer import Caller
from newsletter_site.one_query_permissions import PermissionsBackend

PREFIX = "homing_"
RANDOM_BYTES = 32
PREFIX_LENGTH = len(PREFIX) + 4  # shown, so that owners recognise their tokens

_FORM = re.compile(r"homing_([A-Za-z0-9_-]{43})([0-9a-f]{8})")

USE_NOTED_EVERY_S = 60

_FIND = """
    SELECT id, user_id, scopes,
           last_used_at IS NULL OR last_used_at < clock_timestamp() - make_interval(secs => %s)
      FROM api_token
     WHERE hash = %s AND revoked_at IS NULL
       AND (expires_at IS NULL OR expires_at > clock_timestamp())
"""
# One of many simultaneous calls writes; the others do not wait.
_NOTE_USE = """
    UPDATE api_token SET last_used_at = clock_timestamp()
     WHERE id = (SELECT id FROM api_token
                  WHERE id = %s AND (last_used_at IS NULL
                        OR last_used_at < clock_timestamp() - make_interval(secs => %s))
                    FOR UPDATE SKIP LOCKED)
"""


def build_token(random: str) -> str:
    """Build the token around 43 characters of `secrets.token_urlsafe(RANDOM_BYTES)`."""
    return f"{PREFIX}{random}{_check_sum(random)}"


def is_well_formed(token: str) -> bool:
    """Return whether the prefix, the length and the check sum are those of a token."""
    found = _FORM.fullmatch(token)
    return found is not None and found[2] == _check_sum(found[1])


def hash_token(token: str) -> bytes:
    """Return the 32 bytes that are stored for a token."""
    return hashlib.sha256(token.encode()).digest()


def _check_sum(random: str) -> str:
    return f"{zlib.crc32(random.encode()):08x}"


def find_caller(token: str) -> Caller | None:
    """Return the caller, or None if the token is not accepted.

    An unknown, expired or revoked token is not accepted, nor one whose user may not sign in.
    """
    if not is_well_formed(token):
        return None
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [USE_NOTED_EVERY_S, hash_token(token)])
        row = cursor.fetchone()
    if row is None:
        return None
    token_id, user_id, scopes, must_note_use = row
    user = PermissionsBackend().get_user(user_id)
    if user is None or not user.is_staff:
        return None
    if must_note_use:
        with connection.cursor() as cursor:
            cursor.execute(_NOTE_USE, [token_id, USE_NOTED_EVERY_S])
    return Caller(user, frozenset(scopes))
