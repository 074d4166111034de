"""Recover the batches of crashed workers. Every worker sweeps, without a leader.

Every statement repeats the state, the epoch and the lease it saw, so a worker that settles in
between wins."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import DatabaseError, OperationalError, connection
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable

from delivery import log_context
from delivery.monitoring import delivery_metrics
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.queue.batches.batch_state import end_settled_batch
from delivery.queue.batches.insert_and_split import halve, waiting_recipients
from delivery.queue.batches.write_outcomes import change_outcomes
from delivery.queue.control import pass_probe_on
from delivery.queue.evidence import apply_evidence, unapplied_evidence
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.reason import Reason, ReasonCode
from delivery.rules.retry_or_settle import CRASHES_BEFORE_SUSPICION, parked

logger = logging.getLogger(__name__)

MAX_BATCHES = 50
MAX_LOCK_WAIT_S = 1


@dataclass(frozen=True, slots=True)
class _ExpiredLease:
    batch: int
    edition: int
    epoch: int
    state: str
    attempt: UUID | None
    issue: UUID | None
    version: int | None


class _EditionLockedError(Exception): ...


def recover_expired_leases(*, first_lookup_after_s: float) -> int:
    """Recover up to `MAX_BATCHES` batches with expired leases; return how many.

    Claimed batches wait again. Batches in a call become unknown and are looked up
    `first_lookup_after_s` after the call's deadline. The batches of a locked edition are left to
    the next run."""
    recovered = 0
    tried: list[int] = []
    locked: list[int] = []
    while True:
        known = len(locked)
        for lease in _load_expired(MAX_BATCHES - len(tried), tried, locked):
            if lease.edition in locked:
                continue
            tried.append(lease.batch)
            with log_context.scope():
                log_context.bind(issue=lease.issue, version=lease.version, batch=lease.batch)
                log_context.bind(attempt=lease.attempt)
                try:
                    recovered += _try_to_recover(lease, first_lookup_after_s)
                except _EditionLockedError:
                    locked.append(lease.edition)
                    logger.warning("the edition is locked; its expired leases are recovered later")
        if len(locked) == known:
            return recovered


def _load_expired(at_most: int, tried: Sequence[int], locked: Sequence[int]) -> list[_ExpiredLease]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT expired.id, edition_id, epoch, state, attempt, issue_id, version
            -- A subquery, so that they are found by their own index and not by edition.
            FROM (SELECT * FROM batch
                  WHERE state IN ('claimed', 'sending', 'looking_up')
                    AND lease_until <= clock_timestamp()
                    AND id <> ALL(%s) AND edition_id <> ALL(%s)
                  ORDER BY lease_until LIMIT %s) AS expired
                 LEFT JOIN edition ON edition.id = edition_id
            ORDER BY lease_until
            """,
            [list(tried), list(locked), at_most],
        )
        return [_ExpiredLease(*row) for row in cursor.fetchall()]


def _try_to_recover(lease: _ExpiredLease, first_lookup_after_s: float) -> bool:
    """Return whether the batch was recovered. A failure must not block other batches."""
    try:
        recovered = _recover(lease, first_lookup_after_s)
    except DatabaseError:
        logger.exception("batch %d could not be recovered and is tried again", lease.batch)
        return False
    if recovered:
        metrics_buffer.add(delivery_metrics.LEASES_RECOVERED, state=lease.state)
        logger.warning(
            "batch %d is recovered; its lease expired in state %s", lease.batch, lease.state
        )
    return recovered


def _recover(lease: _ExpiredLease, first_lookup_after_s: float) -> bool:
    with short_transaction() as cursor:
        # An edition that stays locked for long must not delay all other editions.
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        try:
            control = lock_edition(cursor, lease.edition)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise _EditionLockedError from error
            raise
        match lease.state:
            case "claimed":
                recovered = _recover_claimed(cursor, lease, control)
            case "sending":
                recovered = _recover_sending(cursor, lease, first_lookup_after_s)
            case _:
                cursor.execute(
                    f"""
                    UPDATE batch SET state = 'unknown', owner = NULL, lease_until = NULL
                    WHERE {_EXPIRED}
                    """,  # noqa: S608 -- a constant
                    [lease.batch, lease.state, lease.epoch],
                )
                recovered = bool(cursor.rowcount)
        if recovered:
            # Evidence that arrived meanwhile was left for the former holder of the batch.
            unapplied = unapplied_evidence(cursor, lease.batch)
            if unapplied:
                apply_evidence(cursor, lease.edition, unapplied)
    return recovered


_EXPIRED = "id = %s AND state = %s AND epoch = %s AND lease_until <= clock_timestamp()"


def _recover_claimed(cursor: CursorWrapper, lease: _ExpiredLease, control: str) -> bool:
    cursor.execute(
        f"""
        UPDATE batch SET state = %s, owner = NULL, lease_until = NULL, crashes = crashes + 1
        WHERE {_EXPIRED}
        RETURNING crashes, waiting
        """,  # noqa: S608 -- a constant
        ["ready" if control == "running" else "paused", lease.batch, lease.state, lease.epoch],
    )
    row = cursor.fetchone()
    if row is None:
        return False
    crashes, waiting = row
    if crashes < CRASHES_BEFORE_SUSPICION:
        return True
    if waiting > 1:
        halve(cursor, lease.batch, lease.edition)
    else:
        outcomes = dict.fromkeys(waiting_recipients(cursor, lease.batch), parked(crashes))
        change_outcomes(cursor, lease.batch, outcomes, old="waiting")
        end_settled_batch(cursor, lease.batch)
        pass_probe_on(cursor, lease.edition)
    return True


def _recover_sending(
    cursor: CursorWrapper, lease: _ExpiredLease, first_lookup_after_s: float
) -> bool:
    cursor.execute(
        f"""
        UPDATE batch SET state = 'unknown', owner = NULL, lease_until = NULL,
               crashes = crashes + 1, lookups = 0, unknown = unknown + waiting, waiting = 0,
               unknown_since = since,
               due_at = greatest(clock_timestamp(), since + make_interval(secs => %s)),
               reason = %s
        FROM (SELECT batch.id AS expired_id, coalesce(deadline_at, lease_until) AS since
              FROM batch LEFT JOIN attempt ON attempt.id = batch.attempt) AS call
        WHERE expired_id = batch.id AND {_EXPIRED}
        RETURNING batch.attempt
        """,  # noqa: S608 -- a constant
        [
            first_lookup_after_s,
            Reason.of(ReasonCode.WORKER_LOST).dumps(),
            lease.batch,
            lease.state,
            lease.epoch,
        ],
    )
    row = cursor.fetchone()
    if row is None:
        return False
    cursor.execute(
        "UPDATE delivery SET outcome = 'unknown' WHERE batch_id = %s AND outcome = 'waiting'",
        [lease.batch],
    )
    delivery_metrics.count_deliveries({"unknown": cursor.rowcount})
    # The end of the call is unknown, so it is not recorded. Look-ups are timed from its deadline.
    cursor.execute("UPDATE attempt SET result = 'unknown' WHERE id = %s", [row[0]])
    return True
