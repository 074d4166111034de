"""
Settles a batch: writes what became of it, in one transaction guarded by the claim's epoch.

A worker that lost its claim meanwhile changes nothing here; what it learned is kept as evidence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from delivery.hooks import readers
from delivery.models import Attempt, Evidence
from delivery.queue.batches.split import halve, lock_edition, split_off
from delivery.queue.batches.withdraw import withdraw_waiting
from delivery.queue.batches.write_outcomes import counts_changed_by, write_outcomes
from delivery.queue.claim import Claim
from delivery.queue.control import end_probe, pass_probe_on, stop
from delivery.queue.evidence import (
    apply_evidence,
    record_acceptances,
    settle_by_evidence,
    unapplied_evidence,
)
from delivery.queue.quarantine import quarantine_marked
from delivery.queue.short_transaction import short_transaction
from delivery.rules.outcomes import Failed, Next, Sent, Settlement, Suppressed

logger = logging.getLogger(__name__)


def settle_call(
    claim: Claim, attempt: UUID, settlement: Settlement, result: Attempt.Result
) -> bool:
    """
    Write down how the call of `attempt` ended. False if the claim was lost: then every acceptance
    in it is kept as evidence, and the books follow it.
    """

    def end_attempt(cursor: CursorWrapper) -> None:
        _end_attempt(cursor, attempt, settlement, result)

    if _settled(claim, settlement, was="sending", and_then=end_attempt):
        return True
    late = list(_acceptances(settlement))
    with short_transaction() as cursor:
        lock_edition(cursor, claim.edition)
        kept = record_acceptances(cursor, claim.edition, attempt, late, Evidence.Source.REPLY)
        settle_by_evidence(cursor, claim.edition, [recipient for recipient, _ in late])
    logger.warning(
        "the answer to attempt %s (%s) came after its claim was lost; %d acceptances are kept",
        attempt.hex,
        result,
        kept,
    )
    return False


def settle_lookup(claim: Claim, settlement: Settlement) -> bool:
    """Write down what a look-up found. False if the claim was lost meanwhile."""

    def add_what_was_found(cursor: CursorWrapper) -> None:
        if claim.attempt is not None:
            found = sum(1 for _ in _acceptances(settlement))
            cursor.execute(
                "UPDATE attempt SET accepted = least(messages, accepted + %s) WHERE id = %s",
                [found, claim.attempt],
            )
        again = [
            (recipient, sent) for recipient, more in settlement.duplicates.items() for sent in more
        ]
        record_acceptances(cursor, claim.edition, claim.attempt, again, Evidence.Source.LOOKUP)

    return _settled(claim, settlement, was="looking_up", and_then=add_what_was_found)


class _EditionIsNeededError(Exception):
    """Evidence came meanwhile, and heeding it takes the edition's lock, which comes first."""


def _settled(
    claim: Claim,
    settlement: Settlement,
    *,
    was: str,
    and_then: Callable[[CursorWrapper], None],
) -> bool:
    """
    Settle in a transaction of its own; False, and nothing is changed, if the guard did not hold.

    Whether evidence came meanwhile, and whether the edition lets one batch go first by now, is
    asked once the batch's row is changed and thereby held, so that neither is missed; where it is
    so, all of it is done again under the edition's lock.
    """
    for lock in (_needs_lock(claim, settlement, was), True):
        try:
            with short_transaction() as cursor:
                control = lock_edition(cursor, claim.edition) if lock else "running"
                probing = _settle(cursor, claim, settlement, was, control)
                if probing is None:
                    return False
                if probing and not lock:
                    raise _EditionIsNeededError
                and_then(cursor)
                unapplied = unapplied_evidence(cursor, claim.batch)
                if unapplied and not lock:
                    raise _EditionIsNeededError
                if unapplied:
                    apply_evidence(cursor, claim.edition, unapplied)
                return True
        except _EditionIsNeededError:
            continue
    raise AssertionError("the second time the edition is locked")


def _needs_lock(claim: Claim, settlement: Settlement, was: str) -> bool:
    """Only what comes back into line or stops the edition needs it; the common end does not."""
    return (
        was == "looking_up"
        or claim.probing
        or bool(settlement.stop_edition)
        or settlement.next not in {Next.DONE, Next.ASK}
    )


def _acceptances(settlement: Settlement) -> Iterator[tuple[int, Sent]]:
    for recipient, fate in settlement.fates.items():
        if isinstance(fate, Sent):
            yield recipient, fate


def _settle(
    cursor: CursorWrapper, claim: Claim, settlement: Settlement, was: str, control: str
) -> bool | None:
    """
    The guarded transition and all that hangs on it. None if the guard did not hold; otherwise
    whether the edition lets one batch go first, as it is now and not as it was at the claim.
    """
    probing = _change_batch(cursor, claim, settlement, was, control)
    if probing is None:
        return None
    looked_up = was == "looking_up"
    write_outcomes(
        cursor,
        claim.batch,
        settlement.fates,
        was="unknown" if looked_up else "waiting",
        evidence="lookup" if looked_up else "reply",
    )
    refused = [
        recipient
        for recipient, fate in settlement.fates.items()
        if isinstance(fate, Failed) and fate.refused
    ]
    if refused:
        cursor.execute("SELECT kind FROM edition WHERE id = %s", [claim.edition])
        readers.registered().mark_refused(refused, cursor.fetchone()[0])
    if control == "cancelled":
        # It was in the air or in doubt when the edition ended; what was not accepted never goes.
        if settlement.next is not Next.ASK:
            quarantine_marked(cursor, claim.edition, batch=claim.batch)
            withdraw_waiting(cursor, claim.edition, batch=claim.batch)
    elif settlement.next is Next.HALVE:
        halve(cursor, claim.batch, claim.edition)
    elif looked_up and settlement.next is Next.WAIT_FOR_A_PERSON:
        _bring_back_the_waiting(cursor, claim)
    if settlement.stop_edition:
        logger.error("edition %d stops: %s", claim.edition, settlement.stop_edition)
        stop(cursor, claim.edition, settlement.stop_edition)
    elif claim.probing and not looked_up and _was_judged(settlement):
        end_probe(cursor, claim.edition)
    elif probing:
        pass_probe_on(cursor, claim.edition)
    return probing


def _was_judged(settlement: Settlement) -> bool:
    """
    Whether the provider judged copies of this call, so that after a fault the rest may go.

    Only an answer counts: what a look-up finds may have been accepted before the fault.
    """
    return any(isinstance(fate, Sent | Suppressed | Failed) for fate in settlement.fates.values())


def _bring_back_the_waiting(cursor: CursorWrapper, claim: Claim) -> None:
    """Copies that were surely not accepted do not wait for a person beside those in doubt."""
    cursor.execute(
        "SELECT recipient_id FROM delivery WHERE batch_id = %s AND outcome = 'waiting'",
        [claim.batch],
    )
    waiting = [row[0] for row in cursor.fetchall()]
    if waiting:
        split_off(cursor, claim.batch, claim.edition, waiting)


def _change_batch(
    cursor: CursorWrapper, claim: Claim, settlement: Settlement, was: str, control: str
) -> bool | None:
    looked_up = was == "looking_up"
    change = counts_changed_by(settlement.fates, was="unknown" if looked_up else "waiting")
    in_line = "ready" if control == "running" else "paused"
    match settlement.next:
        case Next.ASK:
            state = "unknown"
        case Next.WAIT_FOR_A_PERSON:
            # What waits goes on when a person resumes; what is in doubt has to be decided on.
            state = "parked" if looked_up else "paused"
        case _:
            state = in_line
    values: dict[str, Any] = {
        "batch": claim.batch,
        "epoch": claim.epoch,
        "was": was,
        "state": state,
        "delay": settlement.delay_s,
        "lookup_after": settlement.lookup_after_s,
        "asks": settlement.next is Next.ASK,
        "new_doubt": settlement.next is Next.ASK and not looked_up,
        "said_absent": int(settlement.said_absent),
        "tries": int(settlement.counts_as_try),
        "setbacks": settlement.new_setbacks,
        "blocked": settlement.new_blocked,
        "survived": not looked_up,
        "reason": settlement.reason,
        **{name: change[name] for name in COUNTED},
    }
    cursor.execute(_CHANGE_BATCH, values)
    row = cursor.fetchone()
    return None if row is None else bool(row[0])


COUNTED = ("waiting", "sent", "unknown", "suppressed", "withdrawn", "failed", "missed")

# Since when the batch is in doubt after this, and whether anything of it is open.
_SINCE = """CASE WHEN %(new_doubt)s THEN clock_timestamp()
                 WHEN %(asks)s OR %(state)s = 'parked' THEN doubt_since END"""
_IS_OPEN = "waiting + %(waiting)s + unknown + %(unknown)s > 0"

# One statement, so that state and counts can never be seen apart. Whatever has nothing open is
# done, whatever the decision named as next.
_CHANGE_BATCH = f"""
    UPDATE batch SET
        state = CASE WHEN {_IS_OPEN} THEN %(state)s ELSE 'done' END,
        owner = NULL, lease_until = NULL,
        due_at = greatest(clock_timestamp() + make_interval(secs => %(delay)s),
                          {_SINCE} + make_interval(secs => %(lookup_after)s)),
        doubt_since = {_SINCE},
        attempt = CASE WHEN %(new_doubt)s OR {_SINCE} IS NOT NULL THEN attempt END,
        lookups = CASE WHEN %(asks)s AND NOT %(new_doubt)s THEN lookups + %(said_absent)s
                       ELSE 0 END,
        tries = tries + %(tries)s,
        setbacks = %(setbacks)s,
        blocked = %(blocked)s,
        crashes = CASE WHEN %(survived)s THEN 0 ELSE crashes END,
        reason = CASE WHEN {_IS_OPEN} THEN %(reason)s ELSE '' END,
        {", ".join(f"{name} = {name} + %({name})s" for name in COUNTED)}
    WHERE id = %(batch)s AND state = %(was)s AND epoch = %(epoch)s
    RETURNING (SELECT probing FROM edition WHERE edition.id = edition_id)
"""  # noqa: S608 -- the names are constants


def _end_attempt(
    cursor: CursorWrapper, attempt: UUID, settlement: Settlement, result: Attempt.Result
) -> None:
    cursor.execute(
        """
        UPDATE attempt SET finished_at = clock_timestamp(), result = %s, detail = %s, accepted = %s
        WHERE id = %s
        """,
        [result, settlement.reason, sum(1 for _ in _acceptances(settlement)), attempt],
    )
