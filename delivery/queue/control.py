"""
Holds an edition back and lets it go on, by changing its batches' rows.

The statement that starts a call is guarded by the batch's state, so that after the commit of a
stop not one more call begins.
"""

from __future__ import annotations

from django.db.backends.utils import CursorWrapper

from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition


def stop(cursor: CursorWrapper, edition: int, reason: str) -> None:
    """
    Stop an edition after a fault that every other copy would meet; `reason` says what to set
    right. Runs in the caller's transaction, which has locked the edition. Calls in the air end
    as they end.
    """
    cursor.execute(
        """
        UPDATE edition SET control = 'stopped', control_reason = %s,
               control_at = clock_timestamp(), probing = false
        WHERE id = %s AND control IN ('running', 'stopped')
        """,
        [reason, edition],
    )
    cursor.execute(
        """
        UPDATE batch SET state = 'paused', owner = NULL, lease_until = NULL
        WHERE edition_id = %s AND state IN ('ready', 'claimed')
        """,
        [edition],
    )


def resume(edition: int) -> bool:
    """
    Let a stopped or paused edition go on; False if it was neither.

    After a fault one batch goes first. The rest follows once the provider has judged it, so that
    a fault that is still there costs one call and not a thousand.
    """
    with short_transaction() as cursor:
        control = lock_edition(cursor, edition)
        if control not in {"stopped", "paused"}:
            return False
        cursor.execute(
            """
            WITH waiting AS (
                SELECT id FROM batch WHERE edition_id = %(edition)s AND state = 'paused'
                ORDER BY pos, id LIMIT CASE WHEN %(probe)s THEN 1 END
            )
            UPDATE batch SET state = 'ready', setbacks = 0,
                   due_at = greatest(clock_timestamp(),
                                     (SELECT held_until FROM edition WHERE id = %(edition)s))
            FROM waiting WHERE batch.id = waiting.id
            """,
            {"edition": edition, "probe": control == "stopped"},
        )
        probing = control == "stopped" and cursor.rowcount > 0
        cursor.execute(
            """
            UPDATE edition SET control = 'running', control_reason = '',
                   control_at = clock_timestamp(), probing = %s
            WHERE id = %s
            """,
            [probing, edition],
        )
    return True


def pass_probe_on(cursor: CursorWrapper, edition: int) -> None:
    """
    The first batch after a fault came to rest without the provider having judged it: the next goes.

    Nothing happens while one of the edition's batches will still do something by itself. The
    caller has locked the edition.
    """
    cursor.execute(
        """
        UPDATE batch SET state = 'ready', due_at = clock_timestamp()
        WHERE id = (SELECT id FROM batch WHERE edition_id = %(edition)s AND state = 'paused'
                    ORDER BY pos, id LIMIT 1)
          AND EXISTS (SELECT FROM edition
                      WHERE id = %(edition)s AND probing AND control = 'running')
          AND NOT EXISTS (SELECT FROM batch WHERE edition_id = %(edition)s AND state IN
                          ('ready', 'claimed', 'sending', 'unknown', 'looking_up'))
        """,
        {"edition": edition},
    )


def end_probe(cursor: CursorWrapper, edition: int) -> None:
    """The provider judged the first batch after a fault: the rest goes on. Edition is locked."""
    cursor.execute(
        "UPDATE edition SET probing = false WHERE id = %s AND probing AND control = 'running'",
        [edition],
    )
    if cursor.rowcount:
        cursor.execute(
            """
            UPDATE batch SET state = 'ready', due_at = clock_timestamp()
            WHERE edition_id = %s AND state = 'paused'
            """,
            [edition],
        )
