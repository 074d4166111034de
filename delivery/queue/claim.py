"""Takes a batch from the line for a limited time, and gives it back unused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from delivery.queue.known_database import IS_THE_KNOWN_DATABASE
from delivery.queue.send_rate import IS_SLOWED, have_a_row, is_slowed, take_turn, use_turn
from delivery.queue.short_transaction import short_transaction


@dataclass(frozen=True, slots=True)
class Claim:
    """A batch in the hands of one worker. `epoch` proves it: a later claim has a higher one."""

    batch: int
    epoch: int
    edition: int
    issue: UUID
    version: int
    tries: int
    setbacks: int
    blocked: int
    crashes: int
    lookups: int
    attempt: UUID | None
    waiting: int
    probing: bool


_OF_BATCH = "id, epoch, edition_id, tries, setbacks, blocked, crashes, lookups, attempt, waiting"
_CLAIMED = """
        SELECT held.id, epoch, edition_id, issue_id, version, tries, setbacks, blocked, crashes,
               lookups, attempt, waiting, probing
        FROM held JOIN edition ON edition.id = edition_id
"""


def claim(worker: UUID, *, lease_s: float, rate_per_s: float | None = None) -> Claim | None:
    """
    Take the next batch that is due, or None. The lease of `lease_s` seconds covers the time until
    the call starts; whoever cannot start within it has lost the batch. `rate_per_s` is a ceiling
    on copies per second over all workers: under one, and while a 429 slows them down, none is
    claimed before its turn. Otherwise claiming is one statement. In a restored database nothing is
    claimed before that was noticed (database_identity.py).
    """
    if rate_per_s is None:
        claimed = _claim_next(worker, lease_s, provided=f"NOT {IS_SLOWED}")
        if claimed is not None or not is_slowed():
            return claimed
    have_a_row()
    with short_transaction() as cursor:
        turn = take_turn(cursor, ceiling_per_s=rate_per_s)
        if turn is None:
            return None
        claimed = _claim_next(worker, lease_s)
        if claimed is not None:
            use_turn(cursor, turn, claimed.waiting)
    return claimed


def _claim_next(worker: UUID, lease_s: float, *, provided: str = "true") -> Claim | None:
    return _claim(
        f"""
        WITH next AS (
            SELECT id FROM batch
            WHERE state = 'ready' AND due_at <= clock_timestamp() AND {provided}
              AND {IS_THE_KNOWN_DATABASE}
            ORDER BY pos, id LIMIT 1
            FOR UPDATE SKIP LOCKED
        ), held AS (
            UPDATE batch SET state = 'claimed', epoch = epoch + 1, owner = %s,
                   lease_until = clock_timestamp() + make_interval(secs => %s)
            WHERE id = (SELECT id FROM next)
            RETURNING {_OF_BATCH}
        )
        {_CLAIMED}
        """,  # noqa: S608 -- a constant
        worker,
        lease_s,
    )


def claim_lookup(worker: UUID, *, lease_s: float) -> Claim | None:
    """Take the next batch in doubt whose look-up is due, or None."""
    return _claim(
        f"""
        WITH next AS (
            SELECT id FROM batch
            WHERE state = 'unknown' AND due_at <= clock_timestamp()
            ORDER BY due_at, id LIMIT 1
            FOR UPDATE SKIP LOCKED
        ), held AS (
            UPDATE batch SET state = 'looking_up', epoch = epoch + 1, owner = %s,
                   lease_until = clock_timestamp() + make_interval(secs => %s)
            WHERE id = (SELECT id FROM next)
            RETURNING {_OF_BATCH}
        )
        {_CLAIMED}
        """,  # noqa: S608 -- a constant
        worker,
        lease_s,
    )


def _claim(statement: str, worker: UUID, lease_s: float) -> Claim | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [worker, lease_s])
        row = cursor.fetchone()
    return Claim(*row) if row else None


def release(claim: Claim) -> bool:
    """Give back a batch whose call has not started. False if the claim was lost meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE batch SET state = 'ready', owner = NULL, lease_until = NULL
            WHERE id = %s AND state = 'claimed' AND epoch = %s
            """,
            [claim.batch, claim.epoch],
        )
        return bool(cursor.rowcount == 1)


def next_due_at() -> datetime | None:
    """When the next batch is due for a try or a look-up, or a lease ends; None if nothing will."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT min(at) FROM (
                SELECT min(due_at) FROM batch WHERE state = 'ready'
                UNION ALL SELECT min(due_at) FROM batch WHERE state = 'unknown'
                UNION ALL SELECT min(lease_until) FROM batch
                          WHERE state IN ('claimed', 'sending', 'looking_up')
            ) AS due (at)
            """
        )
        at: datetime | None = cursor.fetchone()[0]
    return at
