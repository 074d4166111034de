"""
Starts the call for a claimed batch: the attempt is on record, and committed, before a byte leaves.

This is also the last look at every delivery before it goes: who left meanwhile, who may not be
mailed, and whose row says that it was sent already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.hooks import readers
from delivery.mail.message import Recipient
from delivery.models import Edition
from delivery.queue.batches.recount import recount
from delivery.queue.batches.split import lock_edition
from delivery.queue.batches.write_outcomes import counts_changed_by, write_outcomes
from delivery.queue.claim import Claim
from delivery.queue.control import pass_probe_on
from delivery.queue.quarantine import HAS_SENT_MARK, set_aside
from delivery.queue.short_transaction import short_transaction
from delivery.reader_fields import FIELD_COLUMNS
from delivery.rules.outcomes import Fate, Suppressed, Withdrawn


@dataclass(frozen=True, slots=True)
class Started:
    """The call is on record; these copies may go, and no others."""

    recipients: Sequence[int]
    kind: str


@dataclass(frozen=True, slots=True)
class NothingToSend:
    """No copy of the batch may go any more; it is settled."""


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """The batch is not this worker's any more: nothing may be sent."""


def copies_of(claim: Claim) -> list[Recipient]:
    """The copies of a claimed batch that wait, to be rendered before the call starts."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT recipient_id, address, {FIELD_COLUMNS} FROM delivery
            WHERE batch_id = %s AND outcome = 'waiting' ORDER BY recipient_id
            """,  # noqa: S608 -- a constant
            [claim.batch],
        )
        return [Recipient(row[0], row[1], row[2:]) for row in cursor.fetchall()]


class _EditionIsNeededError(Exception):
    """What was found takes the edition's lock, which comes before any batch's."""


def start(
    claim: Claim, attempt: UUID, worker: UUID, *, deadline_s: float, lease_s: float
) -> Started | NothingToSend | ClaimLost:
    """
    Put the attempt on record and hold the batch for the call's deadline and the lease after it.

    Guarded by the claim's epoch and its lease: a worker that was away too long starts nothing. And
    by the edition's control: what is held back starts nothing, however it came into line.
    """
    for lock in (claim.probing, True):
        try:
            with short_transaction() as cursor:
                if lock:
                    lock_edition(cursor, claim.edition)
                return _start(cursor, claim, attempt, worker, deadline_s, lease_s, locked=lock)
        except _EditionIsNeededError:
            continue
    raise AssertionError("the second time the edition is locked")


def _start(
    cursor: CursorWrapper,
    claim: Claim,
    attempt: UUID,
    worker: UUID,
    deadline_s: float,
    lease_s: float,
    *,
    locked: bool,
) -> Started | NothingToSend | ClaimLost:
    cursor.execute(
        """
        WITH sending AS (
            UPDATE batch SET state = 'sending', attempt = %s,
                   lease_until = clock_timestamp() + make_interval(secs => %s)
            WHERE batch.id = %s AND state = 'claimed' AND epoch = %s
              AND lease_until > clock_timestamp()
            RETURNING edition_id
        )
        SELECT probing, control, kind FROM sending JOIN edition ON edition.id = edition_id
        """,
        [attempt, deadline_s + lease_s, claim.batch, claim.epoch],
    )
    row = cursor.fetchone()
    if row is None:
        return ClaimLost()
    # As it is now: the edition may have been stopped and resumed since the claim.
    probing, control, kind = row
    if control != "running":
        if not locked:
            raise _EditionIsNeededError
        _hold_back(cursor, claim)
        return ClaimLost()
    unmarked, marked = _waiting_in(cursor, claim)
    if marked:
        if not locked:
            raise _EditionIsNeededError
        set_aside(cursor, claim.batch, claim.edition, marked)
    recipients = _still_to_send(cursor, claim, unmarked, kind)
    if not recipients:
        if probing and not locked:
            raise _EditionIsNeededError
        _finish(cursor, claim)
        if probing:
            pass_probe_on(cursor, claim.edition)
        return NothingToSend()
    cursor.execute(
        """
        INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages,
                             started_at, deadline_at, detail, accepted)
        SELECT %s, %s, id, stream, %s, %s, %s, clock_timestamp(),
               clock_timestamp() + make_interval(secs => %s), '', 0
        FROM edition WHERE id = %s
        """,
        [attempt, claim.batch, claim.epoch, worker, len(recipients), deadline_s, claim.edition],
    )
    return Started(recipients, kind)


def _waiting_in(cursor: CursorWrapper, claim: Claim) -> tuple[list[int], list[int]]:
    """
    Who waits in the batch, without and with a mark of having been sent.

    What is in doubt has no place in a batch that is to be sent, and none of our statements puts it
    there; where other hands did, it is a mark like the others. The caller holds the batch.
    """
    cursor.execute(
        f"""
        SELECT recipient_id, outcome = 'unknown', {HAS_SENT_MARK} FROM delivery
        WHERE batch_id = %s AND outcome IN ('waiting', 'unknown') ORDER BY recipient_id
        """,  # noqa: S608 -- a constant
        [claim.batch],
    )
    unmarked: list[int] = []
    marked: list[int] = []
    misplaced: list[int] = []
    for recipient, in_doubt, bears_a_mark in cursor.fetchall():
        (marked if bears_a_mark or in_doubt else unmarked).append(recipient)
        if in_doubt:
            misplaced.append(recipient)
    if misplaced:
        cursor.execute(
            """
            UPDATE delivery SET outcome = 'waiting'
            WHERE batch_id = %s AND outcome = 'unknown' AND recipient_id = ANY(%s)
            """,
            [claim.batch, misplaced],
        )
        recount(cursor, claim.batch)
    return unmarked, marked


def _hold_back(cursor: CursorWrapper, claim: Claim) -> None:
    """
    Put a batch of an edition that is held back where the others of it are.

    Mail on request comes into line without the edition's lock, and so past whoever held it back.
    The caller has locked the edition, so that it cannot go on in between and leave this one behind.
    """
    cursor.execute(
        """
        UPDATE batch SET state = 'paused', attempt = NULL, owner = NULL, lease_until = NULL
        WHERE id = %s AND state = 'sending' AND epoch = %s
        """,
        [claim.batch, claim.epoch],
    )


def _still_to_send(
    cursor: CursorWrapper, claim: Claim, unmarked: Sequence[int], kind: str
) -> list[int]:
    gone = (
        _not_to_be_tested(cursor, claim)
        if kind == Edition.Kind.TEST
        else readers.registered().no_longer_mailable(unmarked, kind)
    )
    if gone:
        _take_out(cursor, claim, gone, kind)
    return [recipient for recipient in unmarked if recipient not in gone]


def _not_to_be_tested(cursor: CursorWrapper, claim: Claim) -> Mapping[int, str]:
    """
    Of a test letter only the address counts, whoever it belongs to: it may have been shut out, or
    have been erased meanwhile.
    """
    cursor.execute(
        "SELECT recipient_id, address FROM delivery WHERE batch_id = %s AND outcome = 'waiting'",
        [claim.batch],
    )
    addresses = dict(cursor.fetchall())
    shut_out = readers.registered().shut_out(list(addresses.values()))
    return {
        recipient: "suppressed" if address else "withdrawn"
        for recipient, address in addresses.items()
        if not address or address in shut_out
    }


def _take_out(cursor: CursorWrapper, claim: Claim, gone: Mapping[int, str], kind: str) -> None:
    """Write down those who left or may not be mailed; they were never in a call."""
    left = (
        "Left before their copy did."
        if kind == Edition.Kind.NEWSLETTER
        else "No longer held here when it was to go."
    )
    fates: dict[int, Fate] = {
        recipient: Withdrawn(left)
        if verdict == "withdrawn"
        else Suppressed("On the list of addresses that may not be mailed.")
        for recipient, verdict in gone.items()
    }
    write_outcomes(cursor, claim.batch, fates, was="waiting", evidence="")
    change = counts_changed_by(fates, was="waiting")
    cursor.execute(
        """
        UPDATE batch SET waiting = waiting + %s, suppressed = suppressed + %s,
               withdrawn = withdrawn + %s
        WHERE id = %s
        """,
        [change["waiting"], change["suppressed"], change["withdrawn"], claim.batch],
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
