"""Moves deliveries into a batch of their own: to halve a batch, or to set some of it aside."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.backends.utils import CursorWrapper

from delivery.queue.batches.batch_ids import NEXT_BATCH_ID


def lock_edition(cursor: CursorWrapper, edition: int) -> str:
    """
    Lock the edition's row and return its control.

    Whoever brings a batch back into line, stops an edition or numbers a new batch takes this lock
    before any batch's, so that the three never miss one another. `NO KEY`, because whoever starts
    a call holds a batch and then refers to the edition by its key: the two must not wait for each
    other.
    """
    cursor.execute("SELECT control FROM edition WHERE id = %s FOR NO KEY UPDATE", [edition])
    (control,) = cursor.fetchone()
    return str(control)


def split_off(cursor: CursorWrapper, batch: int, edition: int, recipients: Sequence[int]) -> int:
    """
    Move waiting deliveries of `recipients` from `batch` into a new batch; return its id.

    The new batch has the place in line, due time and tries of the old one, and no crashes. It is
    in line if the edition is running, and paused otherwise.
    The caller holds the edition's lock and the batch's row. Raises `AssertionError` if one of the
    deliveries was not waiting there.
    """
    cursor.execute(
        f"""
        INSERT INTO batch (id, edition_id, pos, state, epoch, owner, lease_until, due_at, attempt,
                           tries, setbacks, crashes, doubt_since, lookups, reason, size, waiting,
                           sent, unknown, suppressed, withdrawn, failed, missed)
        SELECT {NEXT_BATCH_ID}, edition_id, pos,
               CASE WHEN control = 'running' THEN 'ready' ELSE 'paused' END, 0, NULL, NULL, due_at,
               NULL, tries, setbacks, 0, NULL, 0, reason, %(copies)s, %(copies)s, 0, 0, 0, 0, 0, 0
        FROM batch JOIN edition ON edition.id = edition_id WHERE batch.id = %(batch)s
        RETURNING batch.id
        """,  # noqa: S608 -- a constant
        {"edition": edition, "batch": batch, "copies": len(recipients)},
    )
    (new,) = cursor.fetchone()
    cursor.execute(
        """
        UPDATE delivery SET batch_id = %s
        WHERE batch_id = %s AND outcome = 'waiting' AND recipient_id = ANY(%s)
        """,
        [new, batch, list(recipients)],
    )
    if cursor.rowcount != len(recipients):
        raise AssertionError(f"{cursor.rowcount} of {len(recipients)} deliveries were waiting")
    cursor.execute(
        "UPDATE batch SET size = size - %s, waiting = waiting - %s WHERE id = %s",
        [len(recipients), len(recipients), batch],
    )
    return int(new)


def halve(cursor: CursorWrapper, batch: int, edition: int) -> None:
    """Move the second half of what waits in `batch` into a new one; both start without crashes."""
    cursor.execute(
        """
        SELECT recipient_id FROM delivery WHERE batch_id = %s AND outcome = 'waiting'
        ORDER BY recipient_id
        """,
        [batch],
    )
    recipients = [row[0] for row in cursor.fetchall()]
    split_off(cursor, batch, edition, recipients[(len(recipients) + 1) // 2 :])
    cursor.execute("UPDATE batch SET crashes = 0 WHERE id = %s", [batch])
