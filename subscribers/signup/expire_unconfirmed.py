"""
Forgetting sign-ups that nobody confirmed: the only place that deletes them.

An address that was typed and never confirmed is somebody's who perhaps knows nothing of it; it is
not ours to keep. The same holds for imported readers who were asked and did not answer.
"""

from __future__ import annotations

from django.conf import settings
from django.db import connection, transaction

from delivery.retention.anonymise import anonymise_unconfirmed
from delivery.retention.batched_delete import MAX_LOCK_WAIT_S

AT_ONCE = 1000

IS_TOO_OLD = """
    state = 'pending' AND created_at < now() - make_interval(days => %s)
    AND NOT EXISTS (SELECT FROM consent_record AS asked
                     WHERE asked.subscriber_id = subscriber.id
                       AND asked.at >= now() - make_interval(days => %s))
"""
# Whoever is being dealt with at this moment is looked at another time.
TOO_OLD = f"""
    SELECT id FROM subscriber WHERE {IS_TOO_OLD} ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""  # noqa: S608 -- a constant
# Asked once more under the lock: they may have signed up again just before it was taken.
FORGET = """
    DELETE FROM subscriber
     WHERE id = ANY(%s) AND state = 'pending'
       AND NOT EXISTS (SELECT FROM consent_record AS asked
                        WHERE asked.subscriber_id = subscriber.id
                          AND asked.at >= now() - make_interval(days => %s))
 RETURNING id, email_key
"""


def expire_pending(at_once: int = AT_ONCE) -> int:
    """
    Forget up to `at_once` people who never confirmed, with all that is on record about them.

    That is who was last asked, or asked last, more than `PENDING_EXPIRES_DAYS` ago. How many were
    forgotten. Any number of workers may do it at once.
    """
    days = settings.PENDING_EXPIRES_DAYS
    with transaction.atomic(), connection.cursor() as cursor:
        # Whoever holds what was told of them for long is not waited for.
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        cursor.execute(TOO_OLD, [days, days, at_once])
        found = [reader for (reader,) in cursor]
        if not found:
            return 0
        cursor.execute(FORGET, [found, days])
        forgotten: dict[int, str] = dict(cursor.fetchall())
        whose = [list(forgotten)]
        cursor.execute("DELETE FROM bounce WHERE subscriber_id = ANY(%s)", whose)
        cursor.execute("DELETE FROM consent_record WHERE subscriber_id = ANY(%s)", whose)
        anonymise_unconfirmed(forgotten)
    return len(forgotten)


def count_expired() -> int:
    """How many people never confirmed for so long that they are to be forgotten."""
    days = settings.PENDING_EXPIRES_DAYS
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM subscriber WHERE {IS_TOO_OLD}", [days, days])  # noqa: S608
        return int(cursor.fetchone()[0])
