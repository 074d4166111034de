"""Find the caller of a token, with the user's permissions of this moment."""

from django.db import connection

from api.bearer import Caller
from newsletter_site.permissions_backend import PermissionsBackend
from newsletter_site.tokens.secret import hash_token, is_well_formed

# The last use of a token is written at most once in so many seconds.
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


def find_caller(token: str) -> Caller | None:
    """Return None if the token is unknown, expired or revoked, or its user may not sign in."""
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
