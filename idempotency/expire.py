"""Delete old responses. The result of the work keeps its key for good (docs/idempotency.md)."""

from collections.abc import Iterator

from django.conf import settings
from django.db import connection, transaction

# Small enough that no delete holds locks for long or writes much at once.
BATCH_SIZE = 1000
LONGEST_WAIT_S = 1

# Not clock_timestamp(): an index is of no use for a bound that moves.
_IS_OLD = "created_at < statement_timestamp() - make_interval(days => %s)"


def expire() -> int:
    """Delete rows older than IDEMPOTENCY_TTL_DAYS, outside any transaction; return how many."""
    return sum(expire_in_batches())


def expire_in_batches() -> Iterator[int]:
    """Do the same a batch at a time, each in a transaction of its own; yield each count."""
    while True:
        deleted = _delete_batch()
        yield deleted
        if deleted < BATCH_SIZE:
            return


def count_expired() -> int:
    """Count the rows that are older than IDEMPOTENCY_TTL_DAYS."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM idempotency WHERE {_IS_OLD}",  # noqa: S608 -- a constant
            [settings.IDEMPOTENCY_TTL_DAYS],
        )
        return int(cursor.fetchone()[0])


def _delete_batch() -> int:
    # Raw SQL: the ORM would read the rows, bodies and all, before it deletes them.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LONGEST_WAIT_S}s'")
        # Use the index by age, whatever the statistics say.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            f"""
            DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM idempotency WHERE {_IS_OLD}
                ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED))
            """,  # noqa: S608 -- a constant
            [settings.IDEMPOTENCY_TTL_DAYS, BATCH_SIZE],
        )
        return int(cursor.rowcount)
