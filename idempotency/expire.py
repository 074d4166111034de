"""
Expiry: forgets old answers.

It can never let work be done twice: what the work made must know its key for good, and raise
OtherContentError or answer as it did before (docs/idempotency.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.db import connection, transaction

# Small enough that no delete holds locks for long or writes much at once.
PIECE = 1000
LONGEST_WAIT_S = 1


def expire() -> int:
    """
    Delete rows older than IDEMPOTENCY_TTL_DAYS by the database's clock; return how many.

    Call it outside a transaction. Two runs at once share the work.
    """
    return sum(expire_in_pieces())


def expire_in_pieces() -> Iterator[int]:
    """The same, a piece at a time, each a transaction of its own; how many went with each."""
    while True:
        gone = _delete_a_piece(settings.IDEMPOTENCY_TTL_DAYS)
        yield gone
        if gone < PIECE:
            return


def count_expired() -> int:
    """How many rows are older than IDEMPOTENCY_TTL_DAYS."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM idempotency WHERE {_IS_OLD}",  # noqa: S608 -- a constant
            [settings.IDEMPOTENCY_TTL_DAYS],
        )
        return int(cursor.fetchone()[0])


# Not clock_timestamp(): an index is of no use to a bound that moves.
_IS_OLD = "created_at < statement_timestamp() - make_interval(days => %s)"


def _delete_a_piece(days: int) -> int:
    # Raw SQL: the ORM would read the rows, bodies and all, before it deletes them.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LONGEST_WAIT_S}s'")
        # By age and by the rows' own places, whatever the statistics say.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            f"""
            DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM idempotency WHERE {_IS_OLD}
                ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED))
            """,  # noqa: S608 -- a constant
            [days, PIECE],
        )
        return int(cursor.rowcount)
