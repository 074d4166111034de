"""Loads open editions by an index of open batches, however many readers they had."""

from django.db import connection

from delivery.queue.batches.active_batches import IS_OPEN
from delivery.queue.scheduled_editions import IS_DUE

_HAS_OPEN_BATCHES = f"""
    EXISTS (SELECT FROM batch
            WHERE batch.edition_id = edition.id AND {IS_OPEN}
              AND CASE control WHEN 'cancelled' THEN state <> 'done'
                               WHEN 'closed' THEN state NOT IN ('done', 'parked')
                               ELSE true END)
"""

# It is due, or may have gone out before the database was restored.
_IS_DUE_OR_UNRECONCILED = f"({IS_DUE} OR control = 'scheduled' AND unreconciled_since IS NOT NULL)"


def load_open_newsletters() -> list[int]:
    """Load the ids of open newsletters, oldest first, with scheduled ones that are due or
    unreconciled."""
    return _ids(
        "kind = 'newsletter' "
        f"AND (control = 'stopped' OR {_IS_DUE_OR_UNRECONCILED} OR {_HAS_OPEN_BATCHES})"
    )


def load_held_transactional() -> list[int]:
    """Load the ids of transactional editions that may need a decision.

    Those that are simply being sent are left out: there is nearly always one, with many batches."""
    return _ids(
        "kind <> 'newsletter' AND (control <> 'running' OR unreconciled_since IS NOT NULL OR EXISTS"
        " (SELECT FROM batch WHERE batch.edition_id = edition.id"
        f" AND {IS_OPEN} AND state IN ('parked', 'paused')))"
    )


def _ids(condition: str) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM edition WHERE {condition} ORDER BY id")  # noqa: S608
        return [row[0] for row in cursor.fetchall()]
