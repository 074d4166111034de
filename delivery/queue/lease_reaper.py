"""
Brings back what lost workers held. Every worker sweeps; none is a leader.

Only an expired lease counts, by the database's clock, and every statement repeats the state, the
epoch and the lease it saw: a worker that settles in between wins.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import DatabaseError, OperationalError, connection
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable

from delivery import log_context
from delivery.monitoring import delivery_metrics
from delivery.queue.batches.batch_state import end_settled_batch
from delivery.queue.batches.edition_lock import lock_edition
from delivery.queue.batches.split import halve
from delivery.queue.batches.write_outcomes import change_outcomes
from delivery.queue.control import pass_probe_on
from delivery.queue.evidence import apply_evidence, unapplied_evidence
from delivery.queue.short_transaction import short_transaction
from delivery.rules.reason import Reason, ReasonCode
from delivery.rules.retries import AfterCrash, after_crash, parked

logger = logging.getLogger(__name__)

AT_A_TIME = 50
LONGEST_WAIT_S = 1


@dataclass(frozen=True, slots=True)
class _Lost:
    """A batch whose lease has run out."""

    batch: int
    edition: int
    epoch: int
    state: str
    attempt: UUID | None
    issue: UUID | None
    version: int | None


class _EditionHeldError(Exception):
    """Somebody else holds the edition's row for longer than a sweep waits."""


def sweep(*, first_lookup_after_s: float) -> int:
    """
    Bring back up to `AT_A_TIME` batches whose lease has run out; return how many.

    Claimed ones wait again: nothing left. Those in a call become unknown and are looked up
    `first_lookup_after_s` after the call's deadline. Look-ups are done again. An edition that
    somebody else holds costs one wait; its other batches are left to the next sweep.
    """
    brought_back = 0
    tried: list[int] = []
    held: list[int] = []
    while True:
        known = len(held)
        for lost in _expired(AT_A_TIME - len(tried), tried, held):
            if lost.edition in held:
                continue
            tried.append(lost.batch)
            with log_context.scope():
                log_context.bind(issue=lost.issue, version=lost.version, batch=lost.batch)
                log_context.bind(attempt=lost.attempt)
                try:
                    brought_back += _swept(lost, first_lookup_after_s)
                except _EditionHeldError:
                    held.append(lost.edition)
                    logger.warning("the edition is locked; its lost batches are swept later")
        if len(held) == known:
            return brought_back


def _expired(at_most: int, tried: Sequence[int], held: Sequence[int]) -> list[_Lost]:
    """The batches lost first, without those `tried` and those of editions `held`."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT lost.id, edition_id, epoch, state, attempt, issue_id, version
            -- By themselves, so that they are looked for among those in hand and not by edition.
            FROM (SELECT * FROM batch
                  WHERE state IN ('claimed', 'sending', 'looking_up')
                    AND lease_until <= clock_timestamp()
                    AND id <> ALL(%s) AND edition_id <> ALL(%s)
                  ORDER BY lease_until LIMIT %s) AS lost
                 LEFT JOIN edition ON edition.id = edition_id
            ORDER BY lease_until
            """,
            [list(tried), list(held), at_most],
        )
        return [_Lost(*row) for row in cursor.fetchall()]


def _swept(lost: _Lost, first_lookup_after_s: float) -> bool:
    """Whether it is back. One that cannot be brought back must not keep the others."""
    try:
        back = _bring_back(lost, first_lookup_after_s)
    except DatabaseError:
        logger.exception("batch %d could not be swept; it is tried again", lost.batch)
        return False
    if back:
        delivery_metrics.count_recovered_lease(lost.state)
        logger.warning(
            "batch %d came back from a lost worker, which had it %s", lost.batch, lost.state
        )
    return back


def _bring_back(lost: _Lost, first_lookup_after_s: float) -> bool:
    with short_transaction() as cursor:
        # Whoever holds the edition for long (a million copies are cancelled in one statement) must
        # not keep the sweep from the batches of all others; it comes again.
        cursor.execute(f"SET LOCAL lock_timeout = '{LONGEST_WAIT_S}s'")
        try:
            control = lock_edition(cursor, lost.edition)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise _EditionHeldError from error
            raise
        match lost.state:
            case "claimed":
                came_back = _claimed(cursor, lost, control)
            case "sending":
                came_back = _sending(cursor, lost, first_lookup_after_s)
            case _:
                came_back = _looking_up(cursor, lost)
        if came_back:
            # What came meanwhile was left to the worker that held the batch.
            unapplied = unapplied_evidence(cursor, lost.batch)
            if unapplied:
                apply_evidence(cursor, lost.edition, unapplied)
    return came_back


_STILL_LOST = "id = %s AND state = %s AND epoch = %s AND lease_until <= clock_timestamp()"


def _claimed(cursor: CursorWrapper, lost: _Lost, control: str) -> bool:
    cursor.execute(
        f"""
        UPDATE batch SET state = %s, owner = NULL, lease_until = NULL, crashes = crashes + 1
        WHERE {_STILL_LOST}
        RETURNING crashes, waiting
        """,  # noqa: S608 -- a constant
        ["ready" if control == "running" else "paused", lost.batch, lost.state, lost.epoch],
    )
    row = cursor.fetchone()
    if row is None:
        return False
    crashes, waiting = row
    match after_crash(crashes, waiting):
        case AfterCrash.READY:
            pass
        case AfterCrash.HALVE:
            halve(cursor, lost.batch, lost.edition)
        case AfterCrash.PARK:
            _park(cursor, lost.batch, crashes)
            pass_probe_on(cursor, lost.edition)
    return True


def _park(cursor: CursorWrapper, batch: int, crashes: int) -> None:
    cursor.execute(
        "SELECT recipient_id FROM delivery WHERE batch_id = %s AND outcome = 'waiting'", [batch]
    )
    outcomes = dict.fromkeys([row[0] for row in cursor.fetchall()], parked(crashes))
    change_outcomes(cursor, batch, outcomes, was="waiting")
    end_settled_batch(cursor, batch)


def _sending(cursor: CursorWrapper, lost: _Lost, first_lookup_after_s: float) -> bool:
    """The call may have reached the provider: all of it is unknown until the provider is asked."""
    cursor.execute(
        f"""
        UPDATE batch SET state = 'unknown', owner = NULL, lease_until = NULL,
               crashes = crashes + 1, lookups = 0, unknown = unknown + waiting, waiting = 0,
               unknown_since = since,
               due_at = greatest(clock_timestamp(), since + make_interval(secs => %s)),
               reason = %s
        FROM (SELECT batch.id AS lost_id, coalesce(deadline_at, lease_until) AS since
              FROM batch LEFT JOIN attempt ON attempt.id = batch.attempt) AS call
        WHERE lost_id = batch.id AND {_STILL_LOST}
        RETURNING batch.attempt
        """,  # noqa: S608 -- a constant
        [
            first_lookup_after_s,
            Reason.of(ReasonCode.WORKER_LOST).dumps(),
            lost.batch,
            lost.state,
            lost.epoch,
        ],
    )
    row = cursor.fetchone()
    if row is None:
        return False
    cursor.execute(
        "UPDATE delivery SET outcome = 'unknown' WHERE batch_id = %s AND outcome = 'waiting'",
        [lost.batch],
    )
    delivery_metrics.count_deliveries({"unknown": cursor.rowcount})
    # Its end was not recorded and is not invented here; look-ups count from its deadline.
    cursor.execute("UPDATE attempt SET result = 'unknown' WHERE id = %s", [row[0]])
    return True


def _looking_up(cursor: CursorWrapper, lost: _Lost) -> bool:
    cursor.execute(
        f"""
        UPDATE batch SET state = 'unknown', owner = NULL, lease_until = NULL
        WHERE {_STILL_LOST}
        """,  # noqa: S608 -- a constant
        [lost.batch, lost.state, lost.epoch],
    )
    return bool(cursor.rowcount)
