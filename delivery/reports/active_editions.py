"""
Which newsletters are not over: copies of theirs wait, are in doubt or were missed.

Found by an index of the batches that are not over, so it costs the same however many readers they
had. Of those that wait for their time it is the ones that should have begun by now, or cannot.
"""

from __future__ import annotations

from django.db import connection

from delivery.queue.batches.active_batches import IS_OPEN
from delivery.queue.scheduled_editions import IS_DUE

_IS_NOT_OVER = f"""
    EXISTS (SELECT FROM batch
            WHERE batch.edition_id = edition.id AND {IS_OPEN}
              AND CASE control WHEN 'cancelled' THEN state <> 'done'
                               WHEN 'closed' THEN state NOT IN ('done', 'parked')
                               ELSE true END)
"""

# Its time has come, or nobody knows whether it went out before the database was restored.
_SHOULD_HAVE_BEGUN = f"({IS_DUE} OR control = 'scheduled' AND unreconciled_since IS NOT NULL)"


def load_open_newsletters() -> list[int]:
    """
    The ids of the editions that are not over, oldest first.

    One that waits for its time is among them once that has come, and where a restored database does
    not know whether it went out.
    """
    return _ids(
        f"kind = 'newsletter' AND (control = 'stopped' OR {_SHOULD_HAVE_BEGUN} OR {_IS_NOT_OVER})"
    )


def load_held_transactional() -> list[int]:
    """
    The ids of those editions of mail on request that may wait for a person.

    There is nearly always one that is not over, with as many batches as people ever asked; so
    those are left out that are simply going out.
    """
    return _ids(
        "kind <> 'newsletter' AND (control <> 'running' OR unreconciled_since IS NOT NULL OR EXISTS"
        " (SELECT FROM batch WHERE batch.edition_id = edition.id"
        f" AND {IS_OPEN} AND state IN ('parked', 'paused')))"
    )


def _ids(condition: str) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM edition WHERE {condition} ORDER BY id")  # noqa: S608
        return [row[0] for row in cursor.fetchall()]
