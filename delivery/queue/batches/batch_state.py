"""The state of batches: open batches, and changes in the caller's transaction."""

from typing import Any

from django.db.backends.utils import CursorWrapper
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest, Now

from delivery.models import Batch, Edition
from delivery.models.batch import OPEN
from delivery.monitoring import delivery_metrics
from delivery.rules.after_call_or_lookup import CRASHES_BEFORE_SUSPICION
from delivery.rules.reason import Reason, ReasonCode

# The reason of a batch that waits because its worker crashed before the call. If the batch is
# halved, both halves keep this reason.
CRASHED = Reason.of(ReasonCode.BATCH_CRASHED)
# Batches that crashed a worker before their last call, or several workers in a row. If a batch
# crashed only one worker, and that worker was in a call, pages show another sentence.
IS_CRASHING = f"""(batch.state NOT IN ('done', 'parked')
    AND (batch.reason = '{CRASHED.dumps()}' OR batch.crashes >= {CRASHES_BEFORE_SUSPICION}))"""


def open_batches(edition: int) -> QuerySet[Batch]:
    """Select the open batches of an edition."""
    return Batch.objects.filter(OPEN, edition=edition)


def pause_batches(edition: int) -> None:
    """Pause every ready or claimed batch of an edition. Calls in flight continue."""
    can_wait = open_batches(edition).filter(state__in=["ready", "claimed"])
    can_wait.update(state=Batch.State.PAUSED, owner=None, lease_until=None)


def resume_batches(edition: int) -> None:
    """Make every paused batch of an edition ready again."""
    paused = Batch.objects.filter(edition=edition, state=Batch.State.PAUSED)
    paused.update(state=Batch.State.READY, due_at=Greatest("due_at", Now()))


def end_settled_batch(batch: int) -> None:
    """Mark a batch as done if none of its deliveries is waiting or unknown."""
    settled = Batch.objects.filter(pk=batch, waiting=0, unknown=0)
    settled.update(state=Batch.State.DONE, reason="")


def skip_epochs(edition: int, number: int) -> None:
    """Raise the epochs of an edition's open batches, so that old claims cannot settle."""
    unfinished = open_batches(edition).exclude(state=Batch.State.DONE)
    unfinished.update(epoch=F("epoch") + number)


def count_feedback(
    cursor: CursorWrapper, what: str, delivery: str, unless: str, values: dict[str, Any]
) -> bool:
    """Mark a delivery as `bounced` or `complained` (`what`); count it in its batch.

    `delivery` is an SQL condition that selects the delivery; `unless` is an SQL condition that
    prevents the change. Returns False if the event of this delivery was counted before, or if
    `unless` is true.
    """
    cursor.execute(
        f"""
        WITH counted AS (
            UPDATE delivery SET {what}_at = %(at)s
            WHERE {delivery} AND {what}_at IS NULL AND NOT {unless}
            RETURNING batch_id
        )
        UPDATE batch SET {what} = {what} + 1 WHERE id = (SELECT batch_id FROM counted)
        """,  # noqa: S608 -- constants
        values,
    )
    return bool(cursor.rowcount)


def withdraw_waiting(
    cursor: CursorWrapper,
    edition: int,
    *,
    batch: int | None = None,
    reason: ReasonCode = ReasonCode.EDITION_CANCELLED,
) -> int:
    """Withdraw waiting deliveries in an edition's paused batches, or in one batch.

    Returns the number of withdrawn deliveries. The caller has locked the edition. Raises
    `AssertionError` if the rows contradict the counts.
    """
    cursor.execute(
        """
        WITH emptied AS (
            UPDATE batch SET withdrawn = batch.withdrawn + before.waiting, waiting = 0,
                   state = CASE WHEN batch.unknown = 0 THEN 'done' ELSE batch.state END,
                   reason = CASE WHEN batch.unknown = 0 THEN '' ELSE batch.reason END
            FROM batch AS before
            WHERE before.id = batch.id AND batch.edition_id = %(edition)s
              AND CASE WHEN %(batch)s::bigint IS NULL
                       THEN batch_is_open_1(batch) AND batch.state = 'paused'
                       ELSE batch.id = %(batch)s END
            RETURNING batch.id, before.waiting
        ), gone AS (
            UPDATE delivery SET outcome = 'withdrawn', reason = %(reason)s
            FROM emptied WHERE delivery.batch_id = emptied.id AND delivery.outcome = 'waiting'
            RETURNING 1
        )
        SELECT (SELECT coalesce(sum(waiting), 0) FROM emptied), (SELECT count(*) FROM gone)
        """,
        {"edition": edition, "batch": batch, "reason": Reason.of(reason).dumps()},
    )
    counted, withdrawn = cursor.fetchone()
    if counted != withdrawn:
        raise AssertionError(f"{withdrawn} of {counted} waiting deliveries could be withdrawn")
    delivery_metrics.count_deliveries({"withdrawn": int(withdrawn)})
    return int(withdrawn)


def withdraw_if_cancelled(cursor: CursorWrapper, edition: int) -> None:
    """Withdraw deliveries that became waiting again after a cancellation."""
    if Edition.objects.filter(pk=edition, control=Edition.Control.CANCELLED).exists():
        withdraw_waiting(cursor, edition)
