"""Withdraws the waiting deliveries of a cancelled edition."""

from django.db.backends.utils import CursorWrapper

from delivery.monitoring import delivery_metrics
from delivery.queue.batches.batch_state import IS_OPEN
from delivery.rules.reason import Reason, ReasonCode


def withdraw_waiting(
    cursor: CursorWrapper,
    edition: int,
    *,
    batch: int | None = None,
    reason: ReasonCode = ReasonCode.EDITION_CANCELLED,
) -> int:
    """Withdraw the waiting deliveries in an edition's paused batches, or in one batch; how many.
    The caller has locked the edition. Raises `AssertionError` if the rows contradict the counts."""
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
        {"edition": edition, "batch": batch, "reason": Reason.of(reason).dumps()},
    )
    counted, withdrawn = cursor.fetchone()
    if counted != withdrawn:
        raise AssertionError(f"{withdrawn} of {counted} waiting deliveries could be withdrawn")
    delivery_metrics.count_deliveries({"withdrawn": int(withdrawn)})
    return int(withdrawn)


def withdraw_if_cancelled(cursor: CursorWrapper, edition: int) -> None:
    """Withdraw deliveries that became waiting again after their edition was cancelled."""
    cursor.execute("SELECT control FROM edition WHERE id = %s", [edition])
    if cursor.fetchone() == ("cancelled",):
        withdraw_waiting(cursor, edition)
