"""Claim batches for a limited time, and release claimed batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Case, Value, When

from delivery.mail.message_for_reader import Recipient
from delivery.models import Batch
from delivery.queue import shared_send_rate
from delivery.queue.short_transaction import call_function, short_transaction
from delivery.rules.after_call_or_lookup import AttemptCounters


@dataclass(frozen=True, slots=True)
class Claim:
    """A batch that one worker holds. A later claim of the batch has a higher `epoch`.

    `deliveries` are its waiting copies, in the order of their recipients. A claim for a look-up has
    no deliveries. `settings` is a value that differs after each change of the newsletter's
    settings.
    """

    batch: int
    epoch: int
    edition: int
    issue: UUID
    version: int
    kind: str
    attempt: UUID | None
    waiting: int
    probing: bool
    history: AttemptCounters
    deliveries: Sequence[Recipient] = ()
    settings: str | None = None


def claim(worker: UUID, *, lease_s: float, rate_per_s: float | None = None) -> Claim | None:
    """Claim the next due batch; None if no batch is due.

    The lease of `lease_s` seconds covers the time until the call starts. `rate_per_s` limits all
    workers' deliveries per second. If `rate_per_s` is set, or after a 429, a claim needs a permit.
    While the permit is not due, the function returns None. After a restore no batch is claimed
    until a worker notices the restore.
    """
    if rate_per_s is None:
        claimed = _claim_next(worker, lease_s, unless_slowed=True)
        if claimed is not None or not shared_send_rate.is_slowed():
            return claimed
    shared_send_rate.ensure_row()
    with short_transaction() as cursor:
        permitted_per_s = shared_send_rate.acquire_permit(cursor, ceiling_per_s=rate_per_s)
        if permitted_per_s is None:
            return None
        claimed = _claim_next(worker, lease_s, unless_slowed=False)
        if claimed is not None:
            shared_send_rate.consume_permit(cursor, permitted_per_s, claimed.waiting)
    return claimed


def _claim_next(worker: UUID, lease_s: float, *, unless_slowed: bool) -> Claim | None:
    values = arguments_of_claim(worker, lease_s, unless_slowed=unless_slowed)
    with connection.cursor() as cursor:
        return claim_from(call_function(cursor, "claim_batch_1", **values))


def arguments_of_claim(worker: UUID, lease_s: float, *, unless_slowed: bool) -> dict[str, Any]:
    """Return the arguments of `claim_batch`, the function in the database."""
    return {"worker": worker, "lease_s": lease_s, "unless_slowed": unless_slowed}


def claim_from(row: Sequence[Any]) -> Claim | None:
    """Return the claim in a row of `claim_batch`; None if no batch was due."""
    if row[0] is None:
        return None
    counters, recipients, addresses, names, fields, of_settings = row[9:]
    columns = [recipients or (), addresses or (), names or (), *zip(*fields or (), strict=True)]
    deliveries = list(zip(*columns, strict=True))
    return Claim(*(*row[:9], AttemptCounters(*counters), deliveries, of_settings))


def claim_lookup(worker: UUID, *, lease_s: float) -> Claim | None:
    """Claim the next unknown batch with a due look-up; None if no look-up is due."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH next AS (
                SELECT id FROM batch
                WHERE state = 'unknown' AND due_at <= clock_timestamp()
                ORDER BY due_at, id LIMIT 1
                FOR UPDATE SKIP LOCKED
            ), claimed AS (
                UPDATE batch SET state = 'looking_up', epoch = epoch + 1, owner = %s,
                       lease_until = clock_timestamp() + make_interval(secs => %s)
                WHERE id = (SELECT id FROM next)
                RETURNING id, epoch, edition_id, attempt, waiting, tries, deferrals, blocked,
                          crashes, lookups
            )
            SELECT claimed.id, epoch, edition_id, issue_id, version, kind, attempt, waiting,
                   probing, tries, deferrals, blocked, crashes, lookups
            FROM claimed JOIN edition ON edition.id = edition_id
            """,
            [worker, lease_s],
        )
        row = cursor.fetchone()
    return None if row is None else Claim(*(*row[:9], AttemptCounters(*row[9:])))


def release(claim: Claim) -> bool:
    """Release a batch whose call has not started; False if the claim was lost."""
    held = Batch.objects.filter(pk=claim.batch, state=Batch.State.CLAIMED, epoch=claim.epoch)
    return held.update(state=Batch.State.READY, owner=None, lease_until=None) == 1


def release_all(worker: UUID) -> int:
    """Release a worker's batches that are not in a call; return how many.

    No thread of the worker may be running.
    """
    state = Batch.State
    held = Batch.objects.filter(state__in=[state.CLAIMED, state.LOOKING_UP], owner=worker)
    before = Case(When(state=state.CLAIMED, then=Value(state.READY)), default=Value(state.UNKNOWN))
    return held.update(state=before, owner=None, lease_until=None)


def is_call_due() -> bool:
    """Whether a call or a look-up is due.

    A rate limit may still delay the claim of a due batch.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT EXISTS (SELECT FROM batch WHERE state = 'ready' AND due_at <= clock_timestamp())
                OR EXISTS (SELECT FROM batch WHERE state = 'unknown'
                                               AND due_at <= clock_timestamp())
            """
        )
        return bool(cursor.fetchone()[0])


def next_due_at() -> datetime | None:
    """Find when the next batch is due or a lease ends; None if nothing is queued."""
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
