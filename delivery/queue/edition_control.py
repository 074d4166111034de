"""Pause, resume, end and resend editions, under the edition's lock.

The batch's state guards the start of a call, so no call starts after a pause or an end. Calls in
flight finish.
"""

from django.db import transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet, Sum
from django.db.models.functions import Coalesce, Greatest, Now

from delivery.models import Attempt, Batch, Edition
from delivery.models.attempt import NO_BATCH
from delivery.queue.batches.batch_state import (
    open_batches,
    pause_batches,
    withdraw_waiting,
)
from delivery.queue.batches.insert_and_split import NEXT_BATCH_ID, insert_batches
from delivery.queue.enqueue_edition import CURRENT_POSITION
from delivery.queue.quarantine_sent_marks import HAS_SENT_MARK, quarantine_marked
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.reason import Reason, ReasonCode, dumps

NOT_ENDED = ("running", "paused", "stopped")
_HAS_NOT_ENDED = f"control IN {NOT_ENDED}"


def stop(cursor: CursorWrapper, edition: int, reason: Reason) -> None:
    """Stop an edition after a fault that would affect all its other deliveries.

    The caller has locked the edition. A cancelled or closed edition keeps its state.
    """
    _hold_back(cursor, edition, "stopped", _HAS_NOT_ENDED, reason)


def pause(edition: int) -> bool:
    """Pause a running edition; False if it was not running."""
    with short_transaction() as cursor:
        lock_edition(cursor, edition)
        return pause_automatically(cursor, edition, None)


def pause_automatically(cursor: CursorWrapper, edition: int, reason: Reason | None) -> bool:
    """Pause a locked edition until an author looks at it; False if it was not running."""
    return _hold_back(cursor, edition, "paused", "control = 'running'", reason)


def _hold_back(
    cursor: CursorWrapper, edition: int, control: str, guard: str, reason: Reason | None
) -> bool:
    # A pause keeps `probing`: after a fault, one batch is still sent before the others.
    cursor.execute(
        f"""
        UPDATE edition SET control = %(control)s, control_at = clock_timestamp(),
               probing = probing AND %(control)s = 'paused',
               control_reason = CASE WHEN unreconciled_since IS NULL THEN %(reason)s
                                     ELSE control_reason END
        WHERE id = %(edition)s AND {guard}
        """,  # noqa: S608 -- constants
        {"edition": edition, "control": control, "reason": dumps(reason)},
    )
    if cursor.rowcount == 0:
        return False
    pause_batches(edition)
    return True


def pause_after_restore(edition: int) -> None:
    """Pause a locked edition that was sent before the database was restored."""
    reason = Reason.of(ReasonCode.SENT_BEFORE_RESTORE).dumps()
    Edition.objects.filter(pk=edition).update(control_reason=reason)
    pause_batches(edition)


def resume(edition: int) -> bool:
    """Resume a stopped or paused edition.

    Returns False if the edition was neither stopped nor paused, or is not reconciled yet. After a
    fault one batch goes first, as a probe. The other batches follow once the provider has judged
    the probe.
    """
    with short_transaction() as cursor:
        control = lock_edition(cursor, edition)
        found = Edition.objects.only("probing", "unreconciled_since", "held_until").get(pk=edition)
        if control not in {"stopped", "paused"} or found.unreconciled_since is not None:
            return False
        probe = control == "stopped" or found.probing
        paused = open_batches(edition).filter(state=Batch.State.PAUSED).order_by("position", "id")
        going = paused.values_list("pk", flat=True)[: 1 if probe else None]
        resumed = Batch.objects.filter(pk__in=list(going)).update(
            state=Batch.State.READY,
            deferrals=0,
            blocked=0,
            due_at=Greatest(Now(), found.held_until),
        )
        cursor.execute(
            """
            UPDATE edition SET control = 'running', control_reason = '',
                   control_at = clock_timestamp(), probing = %s,
                   (watched_left, watched_bounced, watched_complained) = (
                       SELECT coalesce(sum(sent + unknown + CASE state WHEN 'sending' THEN waiting
                                                                       ELSE 0 END), 0),
                              coalesce(sum(bounced), 0), coalesce(sum(complained), 0)
                       FROM batch WHERE edition_id = edition.id)
            WHERE id = %s
            """,
            [probe and resumed > 0, edition],
        )
    return True


def pass_probe_on(cursor: CursorWrapper, edition: int) -> None:
    """Send the next batch of a locked edition as the probe if no batch is active."""
    cursor.execute(
        """
        UPDATE batch SET state = 'ready', due_at = clock_timestamp()
        WHERE id = (SELECT id FROM batch
                    WHERE edition_id = %(edition)s AND batch_is_open_1(batch) AND state = 'paused'
                    ORDER BY position, id LIMIT 1)
          AND EXISTS (SELECT FROM edition
                      WHERE id = %(edition)s AND probing AND control = 'running')
          AND NOT EXISTS (SELECT FROM batch
                          WHERE edition_id = %(edition)s AND batch_is_open_1(batch) AND state IN
                                ('ready', 'claimed', 'sending', 'unknown', 'looking_up'))
        """,
        {"edition": edition},
    )


def end_probe(cursor: CursorWrapper, edition: int) -> None:
    """Make the other batches of a locked edition ready: the provider judged the probe."""
    cursor.execute(
        "UPDATE edition SET probing = false WHERE id = %s AND probing RETURNING control", [edition]
    )
    if cursor.fetchone() == ("running",):
        paused = open_batches(edition).filter(state=Batch.State.PAUSED)
        paused.update(state=Batch.State.READY, due_at=Now())


def send_now(edition: int) -> bool:
    """End the hold of a running edition; False if it is not held."""
    with short_transaction() as cursor:
        lock_edition(cursor, edition)
        running = Edition.objects.filter(pk=edition, control=Edition.Control.RUNNING)
        held = running.filter(held_until__gt=Now())
        if not held.update(held_until=Greatest("published_at", Now())):
            return False
        open_batches(edition).filter(state=Batch.State.READY).update(due_at=Now())
    return True


def call_back(edition: int) -> int | None:
    """Call an edition back during its hold; return how many copies were withdrawn.

    Returns None and changes nothing if the edition's hold has ended, a call has started, or the
    edition is not reconciled.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, edition)
        # A restored database does not know which copies were sent after its backup.
        cursor.execute(
            """
            SELECT held_until > clock_timestamp() AND unreconciled_since IS NULL
                   AND is_known_database_1()
            FROM edition WHERE id = %s
            """,
            [edition],
        )
        if cursor.fetchone() != (True,):
            return None
        withdrawn = _cancel(
            cursor,
            edition,
            control_reason=Reason.of(ReasonCode.CALLED_BACK).dumps(),
            reason=ReasonCode.EDITION_CALLED_BACK,
        )
        # Attempts are read after the batches are withdrawn, because no further call can start once
        # they are withdrawn.
        attempts = Attempt.objects.filter(edition=edition).exclude(batch_id=NO_BATCH)
        unfinished = open_batches(edition).exclude(state=Batch.State.DONE)
        if attempts.exists() or unfinished.exists():
            transaction.set_rollback(True)
            return None
    return withdrawn


def cancel(edition: int) -> int | None:
    """End an edition; return how many deliveries were withdrawn immediately.

    Returns None if the edition had already ended. Calls in flight finish and look-ups continue.
    `settle_batch.py` withdraws the copies that were not accepted.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, edition)
        return _cancel(cursor, edition, control_reason="", reason=ReasonCode.EDITION_CANCELLED)


def _cancel(
    cursor: CursorWrapper, edition: int, *, control_reason: str, reason: ReasonCode
) -> int | None:
    # Mark the edition as unreconciled here, because a later check for a restore skips cancelled
    # editions.
    cursor.execute(
        f"""
        UPDATE edition SET control = 'cancelled', control_reason = %s, probing = false,
               control_at = clock_timestamp(),
               unreconciled_since = CASE WHEN is_known_database_1() THEN unreconciled_since
                                         ELSE clock_timestamp() END
        WHERE id = %s AND {_HAS_NOT_ENDED}
        """,  # noqa: S608 -- a constant
        [control_reason, edition],
    )
    if cursor.rowcount == 0:
        return None
    pause_batches(edition)
    quarantine_marked(cursor, edition)
    return withdraw_waiting(cursor, edition, reason=reason)


def close(edition: int) -> bool:
    """Accept the failures, and the unknown deliveries that wait for a decision.

    Returns False if the edition has ended, is not reconciled, or has a delivery that waits or is
    looked up. Late evidence still settles unknown deliveries.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, edition)
        if open_batches(edition).exclude(state__in=["done", "parked"]).exists():
            return False
        closed = _reconciled(edition).update(
            control="closed", control_reason="", probing=False, control_at=Now()
        )
        return bool(closed)


def _reconciled(edition: int) -> QuerySet[Edition]:
    """Select the edition if it has not ended and is reconciled."""
    return Edition.objects.filter(pk=edition, control__in=NOT_ENDED, unreconciled_since=None)


def send_to_missed(edition: int, *, batch_size: int) -> int | None:
    """Retry the deliveries that failed after all tries or were parked.

    Returns the number of these deliveries, or None if the edition has ended or is not reconciled.
    The deliveries wait in new batches of `batch_size` and may be tried as often as new deliveries.
    """
    with short_transaction() as cursor:
        control = lock_edition(cursor, edition)
        if not _reconciled(edition).exists():
            return None
        rows = f"""
            SELECT new_batch, %(edition)s::bigint,
                   current.position + new_batch - min(new_batch) OVER (),
                   CASE WHEN %(running)s THEN 'ready' ELSE 'paused' END, clock_timestamp(), count(*)
            FROM moved, ({CURRENT_POSITION}) AS current (position)
            GROUP BY new_batch, current.position
        """  # noqa: S608 -- constants
        cursor.execute(
            f"""
            WITH again AS (
                SELECT recipient_id, batch_id AS old_batch,
                       {NEXT_BATCH_ID} + (row_number() OVER (ORDER BY recipient_id) - 1)
                                         / %(batch_size)s AS new_batch
                FROM delivery
                WHERE batch_id IN (SELECT id FROM batch
                                   WHERE edition_id = %(edition)s AND batch_is_open_1(batch)
                                     AND batch.missed > 0)
                  AND {_WAS_MISSED}
            ), moved AS (
                UPDATE delivery SET outcome = 'waiting', missed = NULL, reason = NULL,
                       batch_id = new_batch
                FROM again
                WHERE delivery.batch_id = old_batch
                  AND delivery.recipient_id = again.recipient_id AND {_WAS_MISSED}
                RETURNING old_batch, new_batch
            ), new_batches AS ({insert_batches(rows)}), left_behind AS (
                SELECT old_batch, count(*) AS deliveries FROM moved GROUP BY old_batch
            ), emptied AS (
                UPDATE batch SET size = size - deliveries, failed = failed - deliveries,
                       missed = missed - deliveries
                FROM left_behind WHERE batch.id = old_batch
            )
            SELECT count(*) FROM moved
            """,  # noqa: S608 -- constants
            {"edition": edition, "batch_size": batch_size, "running": control == "running"},
        )
        (moved,) = cursor.fetchone()
    return int(moved)


_WAS_MISSED = """delivery.outcome = 'failed' AND delivery.missed
                  AND delivery.sent_at IS NULL AND delivery.provider_message_id IS NULL"""


def ask_again(edition: int, *, silences: int) -> int | None:
    """Look up again the deliveries that wait for a decision; return how many.

    Returns None if the edition is closed. `silences` is the new number of look-ups of each batch:
    one less than the maximum, which allows one more look-up.
    """
    with short_transaction() as cursor:
        if lock_edition(cursor, edition) == "closed":
            return None
        parked = open_batches(edition).filter(state=Batch.State.PARKED)
        deliveries = parked.aggregate(unknown=Coalesce(Sum("unknown"), 0))["unknown"]
        parked.update(
            state=Batch.State.UNKNOWN,
            lookups=silences,
            due_at=Now(),
            reason=Reason.of(ReasonCode.ASKED_AGAIN).dumps(),
        )
    return int(deliveries)


def resend_unknown(edition: int) -> int | None:
    """Resend the unknown deliveries that wait for a decision; return how many.

    Returns None if the edition has ended or is not reconciled. A reader whose first copy did arrive
    gets a second copy; the operator accepts that risk. A batch stays unknown if one of its unknown
    deliveries is marked as sent.
    """
    with short_transaction() as cursor:
        control = lock_edition(cursor, edition)
        if not _reconciled(edition).exists():
            return None
        cursor.execute(
            f"""
            WITH again AS (
                UPDATE batch SET state = CASE WHEN %(running)s THEN 'ready' ELSE 'paused' END,
                       waiting = waiting + unknown, unknown = 0, attempt = NULL, lookups = 0,
                       unknown_since = NULL, crashes = 0, deferrals = 0, due_at = clock_timestamp(),
                       reason = %(reason)s
                WHERE edition_id = %(edition)s AND batch_is_open_1(batch) AND state = 'parked'
                  AND NOT EXISTS (SELECT FROM delivery
                                  WHERE delivery.batch_id = batch.id
                                    AND delivery.outcome = 'unknown' AND {HAS_SENT_MARK})
                RETURNING id
            ), moved AS (
                UPDATE delivery SET outcome = 'waiting', reason = NULL
                FROM again WHERE delivery.batch_id = again.id AND delivery.outcome = 'unknown'
                RETURNING 1
            )
            SELECT count(*) FROM moved
            """,  # noqa: S608 -- constants
            {
                "edition": edition,
                "running": control == "running",
                "reason": Reason.of(ReasonCode.RESENT_BY_OPERATOR).dumps(),
            },
        )
        (moved,) = cursor.fetchone()
    return int(moved)
