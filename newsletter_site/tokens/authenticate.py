"""
Whose token it is: the one look-up of every call, by the hash, and by the database's clock.

What the person may do is read with it, anew each time: who was made inactive or lost a permission
has lost it for their tokens too.
"""

from __future__ import annotations

from django.db import connection

from api.bearer import Caller
from newsletter_site.permissions_backend import PermissionsBackend
from newsletter_site.tokens.secret import hash_of, is_well_formed

# A token that is used all the time is written to once in so many seconds.
USED_EVERY_S = 60

_FIND = """
    SELECT id, person_id, scopes,
           last_used_at IS NULL OR last_used_at < clock_timestamp() - make_interval(secs => %s)
      FROM api_token
     WHERE hash = %s AND revoked_at IS NULL
       AND (expires_at IS NULL OR expires_at > clock_timestamp())
"""
# Of many calls at once one writes; the others neither wait nor write.
_USED = """
    UPDATE api_token SET last_used_at = clock_timestamp()
     WHERE id = (SELECT id FROM api_token
                  WHERE id = %s AND (last_used_at IS NULL
                        OR last_used_at < clock_timestamp() - make_interval(secs => %s))
                    FOR UPDATE SKIP LOCKED)
"""


def whose(token: str) -> Caller | None:
    """The caller whose token this is; None of what is no token, not accepted any more, or was."""
    if not is_well_formed(token):
        return None
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [USED_EVERY_S, hash_of(token)])
        row = cursor.fetchone()
    if row is None:
        return None
    number, person_id, scopes, is_to_be_noted = row
    person = PermissionsBackend().get_user(person_id)
    if person is None or not person.is_staff:
        return None
    if is_to_be_noted:
        with connection.cursor() as cursor:
            cursor.execute(_USED, [number, USED_EVERY_S])
    return Caller(person, frozenset(scopes))
