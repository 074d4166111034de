"""Loads open editions by an index of open batches, however many readers they had."""

from django.db import connection

from delivery.queue.batches.batch_state import IS_OPEN
from delivery.queue.scheduled_editions import IS_DUE

# A scheduled edition counts once it is due, or if a restored database does not know whether it
# went out. What transactional mail missed is asked for again.
IS_OPEN_EDITION = f"""(control = 'stopped' OR {IS_DUE}
    OR control = 'scheduled' AND unreconciled_since IS NOT NULL
    OR EXISTS (SELECT FROM batch
               WHERE batch.edition_id = edition.id AND {IS_OPEN}
                 AND CASE control WHEN 'cancelled' THEN state <> 'done'
                                  WHEN 'closed' THEN state NOT IN ('done', 'parked')
                                  ELSE state <> 'done' OR kind = 'newsletter' END))"""


def load_open_newsletters() -> list[int]:
    """Load the ids of open newsletters, oldest first, with scheduled ones that are due or
    unreconciled."""
    return _ids(f"kind = 'newsletter' AND {IS_OPEN_EDITION}")


def load_held_transactional() -> list[int]:
    """Load the ids of transactional editions that may need a decision. Those that are simply being
    sent are left out: there is nearly always one, with many batches."""
    return _ids(
        "kind <> 'newsletter' AND (control <> 'running' OR unreconciled_since IS NOT NULL OR EXISTS"
        " (SELECT FROM batch WHERE batch.edition_id = edition.id"
        f" AND {IS_OPEN} AND state IN ('parked', 'paused')))"
    )


def _ids(condition: str) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM edition WHERE {condition} ORDER BY id")  # noqa: S608
        return [row[0] for row in cursor.fetchall()]
