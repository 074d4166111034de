"""Withdraws what still waits of a cancelled edition: it was surely not accepted, and never goes."""

from __future__ import annotations

from django.db.backends.utils import CursorWrapper

from delivery.monitoring import delivery_metrics
from delivery.queue.batches.active_batches import IS_OPEN

CANCELLED = "The edition was cancelled before their copy."
CALLED_BACK = "The edition was called back before their copy."


def withdraw_waiting(
    cursor: CursorWrapper, edition: int, *, batch: int | None = None, because: str = CANCELLED
) -> int:
    """
    Withdraw every waiting copy in the paused batches of an edition, or in one batch; how many.
    `because` is what is said of each.

    What is in doubt in the same batch stays in doubt. Exact: the batches' counts say how many there
    are, and the transaction is undone with `AssertionError` if the rows say otherwise. The caller
    has locked the edition, so that nobody else changes these batches.
    """
    which = {"edition": edition, "batch": batch}
    cursor.execute(
        f"""
        WITH emptied AS (
            UPDATE batch SET withdrawn = batch.withdrawn + before.waiting, waiting = 0,
                   state = CASE WHEN batch.unknown = 0 THEN 'done' ELSE batch.state END,
                   reason = CASE WHEN batch.unknown = 0 THEN '' ELSE batch.reason END
            FROM batch AS before
            WHERE before.id = batch.id AND batch.edition_id = %(edition)s
              AND CASE WHEN %(batch)s::bigint IS NULL THEN {IS_OPEN} AND batch.state = 'paused'
                       ELSE batch.id = %(batch)s END
            RETURNING batch.id, before.waiting
        ), gone AS (
            UPDATE delivery SET outcome = 'withdrawn', reason = %(reason)s
            FROM emptied WHERE delivery.batch_id = emptied.id AND delivery.outcome = 'waiting'
            RETURNING 1
        )
        SELECT (SELECT coalesce(sum(waiting), 0) FROM emptied), (SELECT count(*) FROM gone)
        """,  # noqa: S608 -- a constant
        which | {"reason": because},
    )
    counted, withdrawn = cursor.fetchone()
    if counted != withdrawn:
        raise AssertionError(f"{withdrawn} of {counted} waiting copies could be withdrawn")
    delivery_metrics.count_deliveries({"withdrawn": int(withdrawn)})
    return int(withdrawn)


def withdraw_if_cancelled(cursor: CursorWrapper, edition: int) -> None:
    """Copies that came back into line of an edition that has been cancelled never go."""
    cursor.execute("SELECT control FROM edition WHERE id = %s", [edition])
    if cursor.fetchone() == ("cancelled",):
        withdraw_waiting(cursor, edition)
