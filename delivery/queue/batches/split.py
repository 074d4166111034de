"""Moves deliveries into a batch of their own."""

from collections.abc import Sequence

from django.db.backends.utils import CursorWrapper

from delivery.queue.batches.new_batches import NEXT_BATCH_ID, insert_batches


def split_off(cursor: CursorWrapper, batch: int, edition: int, recipients: Sequence[int]) -> int:
    """Move waiting deliveries of `recipients` from `batch` into a new batch; return its id.

    The new batch keeps position, due time and tries, and starts without crashes. The caller holds
    the edition's lock and the batch's row. Raises `AssertionError` if a delivery was not waiting
    there."""
    rows = f"""
        SELECT {NEXT_BATCH_ID}, edition_id, position,
               CASE WHEN control = 'running' THEN 'ready' ELSE 'paused' END, due_at, %(size)s::int,
               tries, deferrals, reason
        FROM batch JOIN edition ON edition.id = edition_id WHERE batch.id = %(batch)s
    """  # noqa: S608 -- a constant
    cursor.execute(
        f"{insert_batches(rows, 'tries', 'deferrals', 'reason')} RETURNING id",
        {"edition": edition, "batch": batch, "size": len(recipients)},
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


def waiting_recipients(cursor: CursorWrapper, batch: int) -> list[int]:
    """The recipients of the waiting deliveries of a batch, in order."""
    cursor.execute(
        """
        SELECT recipient_id FROM delivery WHERE batch_id = %s AND outcome = 'waiting'
        ORDER BY recipient_id
        """,
        [batch],
    )
    return [row[0] for row in cursor.fetchall()]


def halve(cursor: CursorWrapper, batch: int, edition: int) -> None:
    """Move the second half of what waits in `batch` into a new one; both start without crashes."""
    recipients = waiting_recipients(cursor, batch)
    split_off(cursor, batch, edition, recipients[(len(recipients) + 1) // 2 :])
    cursor.execute("UPDATE batch SET crashes = 0 WHERE id = %s", [batch])
