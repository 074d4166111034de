"""Deletion of readers who were asked to confirm and never did."""

from django.conf import settings
from django.db import connection

from delivery.interface import short_transaction
from delivery.retention.anonymise import anonymise_unconfirmed
from delivery.retention.batched_delete import MAX_LOCK_WAIT_S

AT_ONCE = 1000

NOT_CONFIRMED = """
    state = 'pending'
    AND NOT EXISTS (SELECT FROM consent_record AS asked
                     WHERE asked.subscriber_id = subscriber.id
                       AND asked.at >= now() - make_interval(days => %s))
"""
IS_TOO_OLD = f"{NOT_CONFIRMED} AND created_at < now() - make_interval(days => %s)"


def expire_pending(batch_size: int = AT_ONCE) -> int:
    """Delete readers who did not confirm in `PENDING_EXPIRES_DAYS`; return how many.

    One call deletes at most `batch_size` readers.
    """
    days = settings.PENDING_EXPIRES_DAYS
    with short_transaction() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        # The next call takes rows that are locked now.
        query = f"SELECT id FROM subscriber WHERE {IS_TOO_OLD} ORDER BY id LIMIT %s"  # noqa: S608
        cursor.execute(f"{query} FOR UPDATE SKIP LOCKED", [days, days, batch_size])
        found = [reader for (reader,) in cursor]
        if not found:
            return 0
        # Check again under the lock: they may have signed up again just before.
        query = f"DELETE FROM subscriber WHERE id = ANY(%s) AND {NOT_CONFIRMED}"  # noqa: S608
        cursor.execute(f"{query} RETURNING id, email_key", [found, days])
        deleted: dict[int, str] = dict(cursor.fetchall())
        ids = [list(deleted)]
        cursor.execute("DELETE FROM bounce WHERE subscriber_id = ANY(%s)", ids)
        cursor.execute("DELETE FROM consent_record WHERE subscriber_id = ANY(%s)", ids)
        anonymise_unconfirmed(deleted)
    return len(deleted)


def count_expired() -> int:
    """Count the readers whom `expire_pending` would delete."""
    days = settings.PENDING_EXPIRES_DAYS
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM subscriber WHERE {IS_TOO_OLD}", [days, days])  # noqa: S608
        return int(cursor.fetchone()[0])
