"""
Starts the call for a claimed batch: the attempt is on record, and committed, before a byte leaves.

This is also the last look at every delivery before it goes: who left meanwhile, who may not be
mailed, and whose row says that it was sent already.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery import readers
from delivery.message import Copy
from delivery.queue.claim import Claim
from delivery.queue.control import pass_probe_on
from delivery.queue.fates import counts_changed_by, write_fates
from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition, split_off
from delivery.settlement import Fate, Suppressed, Unknown, Withdrawn

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Started:
    """The call is on record; these copies may go, and no others."""

    recipients: Sequence[int]


@dataclass(frozen=True, slots=True)
class NothingToSend:
    """No copy of the batch may go any more; it is settled."""


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """The batch is not this worker's any more: nothing may be sent."""


def copies_of(claim: Claim) -> list[Copy]:
    """The copies of a claimed batch that wait, to be rendered before the call starts."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT recipient_id, address, name FROM delivery
            WHERE batch_id = %s AND outcome = 'waiting' ORDER BY recipient_id
            """,
            [claim.batch],
        )
        return [Copy(*row) for row in cursor.fetchall()]


def start(
    claim: Claim, attempt: UUID, worker: UUID, *, deadline_s: float, lease_s: float
) -> Started | NothingToSend | ClaimLost:
    """
    Put the attempt on record and hold the batch for the call's deadline and the lease after it.

    Guarded by the claim's epoch and its lease: a worker that was away too long starts nothing.
    """
    with short_transaction() as cursor:
        unmarked, marked = _waiting_in(cursor, claim)
        if claim.probing or marked:
            lock_edition(cursor, claim.edition)
        cursor.execute(
            """
            UPDATE batch SET state = 'sending', attempt = %s,
                   lease_until = clock_timestamp() + make_interval(secs => %s)
            WHERE id = %s AND state = 'claimed' AND epoch = %s AND lease_until > clock_timestamp()
            """,
            [attempt, deadline_s + lease_s, claim.batch, claim.epoch],
        )
        if cursor.rowcount == 0:
            return ClaimLost()
        if marked:
            _set_aside(cursor, claim, marked)
        recipients = _still_to_send(cursor, claim, unmarked)
        if not recipients:
            _finish(cursor, claim)
            return NothingToSend()
        cursor.execute(
            """
            INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages,
                                 started_at, deadline_at, detail, accepted)
            SELECT %s, %s, id, stream, %s, %s, %s, clock_timestamp(),
                   clock_timestamp() + make_interval(secs => %s), '', 0
            FROM edition WHERE id = %s
            """,
            [
                attempt,
                claim.batch,
                claim.epoch,
                worker,
                len(recipients),
                deadline_s,
                claim.edition,
            ],
        )
    return Started(recipients)


# What says that a waiting copy may have gone: the provider's id, a time, or an acceptance that came
# after its worker had lost its claim.
_BEARS_A_MARK = """(
    provider_message_id IS NOT NULL OR sent_at IS NOT NULL
    OR EXISTS (SELECT FROM evidence
               WHERE evidence.issue_id = delivery.issue_id AND evidence.version = delivery.version
                 AND evidence.recipient_id = delivery.recipient_id))"""


def _waiting_in(cursor: CursorWrapper, claim: Claim) -> tuple[list[int], list[int]]:
    """
    Who waits in the batch, without and with a mark.

    Read before the guard, so that the edition can be locked first where it has to be: only who
    holds the batch changes its rows, and the guard says whether that is still this worker.
    """
    cursor.execute(
        f"""
        SELECT recipient_id, {_BEARS_A_MARK} FROM delivery
        WHERE batch_id = %s AND outcome = 'waiting' ORDER BY recipient_id
        """,  # noqa: S608 -- a constant
        [claim.batch],
    )
    unmarked: list[int] = []
    marked: list[int] = []
    for recipient, bears_a_mark in cursor.fetchall():
        (marked if bears_a_mark else unmarked).append(recipient)
    return unmarked, marked


def _still_to_send(cursor: CursorWrapper, claim: Claim, unmarked: Sequence[int]) -> list[int]:
    gone = readers.registered().no_longer_mailable(unmarked)
    if gone:
        _take_out(cursor, claim, gone)
    return [recipient for recipient in unmarked if recipient not in gone]


def _take_out(cursor: CursorWrapper, claim: Claim, gone: Mapping[int, str]) -> None:
    """Write down those who left or may not be mailed; they were never in a call."""
    fates: dict[int, Fate] = {
        recipient: Withdrawn("Left before their copy did.")
        if verdict == "withdrawn"
        else Suppressed("On the list of addresses that may not be mailed.")
        for recipient, verdict in gone.items()
    }
    write_fates(cursor, claim.batch, fates, was="waiting", evidence="")
    change = counts_changed_by(fates, was="waiting")
    cursor.execute(
        """
        UPDATE batch SET waiting = waiting + %s, suppressed = suppressed + %s,
               withdrawn = withdrawn + %s
        WHERE id = %s
        """,
        [change["waiting"], change["suppressed"], change["withdrawn"], claim.batch],
    )


def _set_aside(cursor: CursorWrapper, claim: Claim, marked: Sequence[int]) -> None:
    """
    Deliveries that wait but bear a mark of having been sent: asked about, never sent again first.

    The order is always send, then mark; a mark without evidence breaks it (docs/decisions/0006).
    Each is put into a batch of its own: it is asked about by its own key, and what is found out
    about one is never lost because of another. The caller has locked the edition.
    """
    logger.critical(
        "%d deliveries of batch %d bear a mark of having been sent without being settled; "
        "Postmark is asked about them before anything else",
        len(marked),
        claim.batch,
    )
    for recipient in marked:
        aside = split_off(cursor, claim.batch, claim.edition, [recipient])
        write_fates(cursor, aside, {recipient: Unknown()}, was="waiting", evidence="")
        cursor.execute(
            """
            UPDATE batch SET state = 'unknown', waiting = 0, unknown = size, lookups = 0,
                   doubt_since = clock_timestamp(), due_at = clock_timestamp(), reason = %s
            WHERE id = %s
            """,
            ["It bears a mark of having been sent, but is not settled: Postmark is asked.", aside],
        )


def _finish(cursor: CursorWrapper, claim: Claim) -> None:
    cursor.execute(
        """
        UPDATE batch SET state = 'done', owner = NULL, lease_until = NULL, attempt = NULL,
               reason = ''
        WHERE id = %s AND state = 'sending' AND epoch = %s
        """,
        [claim.batch, claim.epoch],
    )
    if claim.probing:
        pass_probe_on(cursor, claim.edition)
