"""Recover the batches of crashed workers.

Every worker looks for batches of crashed workers; there is no leader. A batch is recovered when its
lease has expired, or earlier if its worker's process has ended. Every statement repeats the state,
the epoch and the lease or worker that were read before. So if a worker settles the batch meanwhile,
the statement changes nothing.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import DatabaseError, OperationalError, connection
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable

from delivery import log_context
from delivery.models import Alarm, Attempt
from delivery.monitoring import delivery_metrics
from delivery.monitoring.alarms import raise_alarm
from delivery.monitoring.database_fault import stops_all_writes
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.queue.batches.batch_state import CRASHED, end_settled_batch, withdraw_waiting
from delivery.queue.batches.insert_and_split import halve, waiting_deliveries, waiting_recipients
from delivery.queue.batches.write_outcomes import change_outcomes
from delivery.queue.edition_control import pass_probe_on
from delivery.queue.quarantine_sent_marks import quarantine_marked
from delivery.queue.record_evidence import apply_evidence, unapplied_evidence
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.after_call_or_lookup import CRASHES_BEFORE_SUSPICION, parked
from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)

MAX_BATCHES = 50
MAX_LOCK_WAIT_S = 1


@dataclass(frozen=True, slots=True)
class _HeldBatch:
    """A batch of a crashed worker."""

    batch: int
    edition: int
    epoch: int
    state: str
    attempt: UUID | None
    dead: UUID | None  # The worker that held the batch, if its process has ended.
    issue: UUID | None
    version: int | None


class _EditionLockedError(Exception): ...


def recover_expired_leases() -> int:
    """Recover up to `MAX_BATCHES` batches with expired leases; return how many.

    Claimed batches wait again. A batch that was in a call becomes unknown and is looked up. The
    batches of a locked edition are left to the next run.
    """
    return _recover_all(None, ())


def recover_dead_worker(worker: UUID, unsent: Collection[UUID]) -> bool:
    """Recover the batches of a worker whose process has ended; False if any are left.

    The attempts `unsent` were certainly not sent, so their batches wait again without a look-up.
    """
    _recover_all(worker, unsent)
    return not _load_held(worker, 1, (), ())


def _recover_all(dead: UUID | None, unsent: Collection[UUID]) -> int:
    recovered = 0
    tried: list[int] = []
    locked: list[int] = []
    fault: DatabaseError | None = None
    while True:
        known = len(locked)
        for held in _load_held(dead, MAX_BATCHES - len(tried), tried, locked):
            if held.edition in locked:
                continue
            tried.append(held.batch)
            with log_context.scope():
                log_context.bind(issue=held.issue, version=held.version, batch=held.batch)
                log_context.bind(attempt=held.attempt)
                try:
                    recovered += _try_to_recover(held, is_unsent=held.attempt in unsent)
                except _EditionLockedError:
                    locked.append(held.edition)
                    logger.warning("the edition is locked; its batches are recovered later")
                except DatabaseError as error:
                    fault = error
        if len(locked) == known:
            if fault is not None:
                raise fault
            return recovered


def _load_held(
    dead: UUID | None, at_most: int, tried: Sequence[int], locked: Sequence[int]
) -> list[_HeldBatch]:
    """Load the batches of the worker `dead`.

    Without `dead`, load the batches with expired leases.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT held.id, edition_id, epoch, state, attempt, %(dead)s::uuid, issue_id, version
            -- A subquery, so that they are found by their own index and not by edition.
            FROM (SELECT * FROM batch
                  WHERE state IN ('claimed', 'sending', 'looking_up')
                    AND CASE WHEN %(dead)s::uuid IS NULL THEN lease_until <= clock_timestamp()
                             ELSE owner = %(dead)s END
                    AND id <> ALL(%(tried)s) AND edition_id <> ALL(%(locked)s)
                  ORDER BY lease_until LIMIT %(at_most)s) AS held
                 LEFT JOIN edition ON edition.id = edition_id
            ORDER BY lease_until
            """,
            {"dead": dead, "tried": list(tried), "locked": list(locked), "at_most": at_most},
        )
        return [_HeldBatch(*row) for row in cursor.fetchall()]


def _try_to_recover(held: _HeldBatch, *, is_unsent: bool) -> bool:
    """Try to recover a batch; return whether it was recovered.

    A failure must not block other batches.

    A fault of the whole database, such as a full disk, is raised, so that the caller logs it once.
    """
    try:
        recovered = _recover(held, is_unsent)
    except DatabaseError as error:
        if stops_all_writes(error):
            raise
        logger.exception("batch %d could not be recovered and is tried again", held.batch)
        return False
    if recovered:
        metrics_buffer.add(delivery_metrics.LEASES_RECOVERED, state=held.state)
        logger.warning(
            "batch %d is recovered; %s in state %s",
            held.batch,
            "its worker's process ended" if held.dead else "its lease expired",
            held.state,
        )
    return recovered


def _recover(held: _HeldBatch, is_unsent: bool) -> bool:
    with short_transaction() as cursor:
        # An edition that stays locked for long must not delay all other editions.
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        try:
            control = lock_edition(cursor, held.edition)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise _EditionLockedError from error
            raise
        if held.state == "claimed" or (held.state == "sending" and is_unsent):
            recovered = _requeue(cursor, held, control)
        elif held.state == "sending":
            recovered = _make_unknown(cursor, held)
        else:
            cursor.execute(
                f"""
                UPDATE batch SET state = 'unknown', owner = NULL, lease_until = NULL
                WHERE {_STILL_HELD}
                """,  # noqa: S608 -- a constant
                _seen(held),
            )
            recovered = bool(cursor.rowcount)
        if recovered:
            # Evidence that arrived during the lease was left to the crashed worker, so apply it
            # now.
            unapplied = unapplied_evidence(cursor, held.batch)
            if unapplied:
                apply_evidence(cursor, held.edition, unapplied)
    return recovered


_STILL_HELD = """id = %(batch)s AND state = %(was)s AND epoch = %(epoch)s
          AND (lease_until <= clock_timestamp() OR owner = %(dead)s)"""


def _seen(held: _HeldBatch) -> dict[str, Any]:
    return {"batch": held.batch, "was": held.state, "epoch": held.epoch, "dead": held.dead}


def _requeue(cursor: CursorWrapper, held: _HeldBatch, control: str) -> bool:
    """Put a batch back into the queue, because its call was certainly not sent."""
    cursor.execute(
        f"""
        UPDATE batch SET state = %(state)s, owner = NULL, lease_until = NULL, attempt = NULL,
               crashes = crashes + 1, reason = %(reason)s
        WHERE {_STILL_HELD}
        RETURNING crashes, waiting
        """,  # noqa: S608 -- a constant
        {
            **_seen(held),
            "state": "ready" if control == "running" else "paused",
            "reason": CRASHED.dumps(),
        },
    )
    row = cursor.fetchone()
    if row is None:
        return False
    if held.state == "sending":
        _end_attempt(held, "not_sent")
    crashes, waiting = row
    _raise_if_repeated(cursor, held, crashes)
    if control == "cancelled":
        # The edition ended during the call. Ending an edition does not interrupt a call.
        quarantine_marked(cursor, held.edition, batch=held.batch)
        withdraw_waiting(cursor, held.edition, batch=held.batch)
    elif crashes < CRASHES_BEFORE_SUSPICION:
        pass
    elif waiting > 1:
        halve(cursor, held.batch, held.edition)
    else:
        outcomes = dict.fromkeys(waiting_recipients(held.batch), parked(crashes))
        change_outcomes(cursor, held.batch, outcomes)
        end_settled_batch(held.batch)
        pass_probe_on(cursor, held.edition)
    return True


def _make_unknown(cursor: CursorWrapper, held: _HeldBatch) -> bool:
    """Make a batch unknown; its first look-up is due at once.

    The schedule of the look-ups counts from the call's deadline.
    """
    cursor.execute(
        f"""
        UPDATE batch SET state = 'unknown', owner = NULL, lease_until = NULL,
               crashes = crashes + 1, lookups = 0, unknown = unknown + waiting, waiting = 0,
               unknown_since = since, due_at = clock_timestamp(), reason = %(reason)s
        FROM (SELECT batch.id AS lost_id, coalesce(deadline_at, lease_until) AS since
              FROM batch LEFT JOIN attempt ON attempt.id = batch.attempt) AS call
        WHERE lost_id = batch.id AND {_STILL_HELD}
        RETURNING crashes
        """,  # noqa: S608 -- a constant
        {**_seen(held), "reason": Reason.of(ReasonCode.WORKER_LOST).dumps()},
    )
    row = cursor.fetchone()
    if row is None:
        return False
    _raise_if_repeated(cursor, held, *row)
    unknown = waiting_deliveries(held.batch).update(outcome="unknown")
    delivery_metrics.count_deliveries({"unknown": unknown})
    _end_attempt(held, "unknown")
    return True


def _raise_if_repeated(cursor: CursorWrapper, held: _HeldBatch, crashes: int) -> None:
    """Raise an alarm, once for an edition, after several crashes.

    A single crash may be a killed worker.
    """
    if crashes >= CRASHES_BEFORE_SUSPICION:
        raise_alarm(cursor, held.edition, Alarm.Kind.BATCH_CRASHING, "", CRASHED)


def _end_attempt(held: _HeldBatch, result: str) -> None:
    # Nobody knows when the call ended, so no end is recorded. Look-ups are timed from the call's
    # deadline.
    Attempt.objects.filter(pk__in=[held.attempt]).update(result=result)
