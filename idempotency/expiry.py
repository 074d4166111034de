"""
Expiry: forgets old answers.

It can never let work be done twice: what the work made must know its key for good, and raise
OtherContentError or answer as it did before (docs/idempotency.md).
"""

from __future__ import annotations

from django.conf import settings
from django.db import connection

# Small enough that no delete holds locks for long or writes much at once.
PIECE = 1000


def expire() -> int:
    """
    Delete rows older than IDEMPOTENCY_TTL_DAYS by the database's clock; return how many.

    Each piece is a statement of its own, so call it outside a transaction. Two runs at once
    share the work.
    """
    deleted = 0
    while True:
        piece = _delete_a_piece(settings.IDEMPOTENCY_TTL_DAYS)
        deleted += piece
        if piece < PIECE:
            return deleted


def _delete_a_piece(days: int) -> int:
    # Raw SQL: the ORM would read the rows, bodies and all, before it deletes them.
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM idempotency WHERE (user_id, idempotency_key) IN ("
            " SELECT user_id, idempotency_key FROM idempotency"
            " WHERE created_at < clock_timestamp() - make_interval(days => %s)"
            " ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED)",
            [days, PIECE],
        )
        return int(cursor.rowcount)
