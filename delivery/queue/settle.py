"""Settle a batch: write the outcomes in one transaction, guarded by the epoch.

A worker that lost its claim changes no outcome here. Its results are kept as evidence."""

import logging
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from delivery.hooks import readers
from delivery.models import Attempt, Evidence
from delivery.queue.batches.batch_state import withdraw_waiting
from delivery.queue.batches.insert_and_split import halve, split_off, waiting_recipients
from delivery.queue.batches.write_outcomes import COUNTS, changed_counts, write_outcomes
from delivery.queue.claim import Claim
from delivery.queue.control import end_probe, pass_probe_on, stop
from delivery.queue.evidence import (
    apply_evidence,
    record_acceptances,
    settle_by_evidence,
    unapplied_evidence,
)
from delivery.queue.quarantine_sent_marks import quarantine_marked
from delivery.queue.short_transaction import (
    EditionLockNeededError,
    lock_edition,
    short_transaction,
    with_edition_lock_if_needed,
)
from delivery.rules.call_results import AllAccepted, Answered, CallResult, NotSent, Unanswered
from delivery.rules.outcomes import Failed, Next, Sent, Settlement, Suppressed
from delivery.rules.reason import dumps

logger = logging.getLogger(__name__)


def settle_call(
    claim: Claim, attempt: UUID, settlement: Settlement, result: Attempt.Result
) -> bool:
    """Write how the call of `attempt` ended. False if the claim was lost."""

    def end_attempt(cursor: CursorWrapper) -> None:
        cursor.execute(
            """
            UPDATE attempt SET finished_at = clock_timestamp(), result = %s, detail = %s,
                   accepted = %s
            WHERE id = %s
            """,
            [result, dumps(settlement.reason), len(_acceptances(settlement)), attempt],
        )

    if _settle(claim, settlement, looked_up=False, and_then=end_attempt):
        return True
    late = _acceptances(settlement)
    with short_transaction() as cursor:
        lock_edition(cursor, claim.edition)
        kept = record_acceptances(cursor, claim.edition, attempt, late, Evidence.Source.REPLY)
        settle_by_evidence(cursor, claim.edition, [recipient for recipient, _ in late])
    logger.warning(
        "the answer to attempt %s (%s) came after its claim was lost; %d acceptances were recorded",
        attempt.hex,
        result,
        kept,
    )
    return False


def settle_lookup(claim: Claim, settlement: Settlement) -> bool:
    """Write the result of a look-up. False if the claim was lost meanwhile."""

    def count_found(cursor: CursorWrapper) -> None:
        if claim.attempt is not None:
            cursor.execute(
                "UPDATE attempt SET accepted = least(messages, accepted + %s) WHERE id = %s",
                [len(_acceptances(settlement)), claim.attempt],
            )
        again = [
            (recipient, sent) for recipient, more in settlement.duplicates.items() for sent in more
        ]
        record_acceptances(cursor, claim.edition, claim.attempt, again, Evidence.Source.LOOKUP)

    return _settle(claim, settlement, looked_up=True, and_then=count_found)


def _settle(
    claim: Claim,
    settlement: Settlement,
    *,
    looked_up: bool,
    and_then: Callable[[CursorWrapper], None],
) -> bool:
    """Settle in a separate transaction.

    Returns False and changes nothing if the guard fails.
    Evidence and probing are read after the batch's row is locked, so that late changes are seen. If
    evidence is found or the edition is probing, everything is repeated under the edition's lock."""

    def settle_in(cursor: CursorWrapper, locked_control: str | None) -> bool:
        control = locked_control or "running"
        probing = _change_batch(cursor, claim, settlement, looked_up, control)
        if probing is None:
            return False
        _change_deliveries(cursor, claim, settlement, looked_up, control)
        _change_edition(cursor, claim, settlement, looked_up, probing)
        and_then(cursor)
        unapplied = unapplied_evidence(cursor, claim.batch)
        if (probing or unapplied) and locked_control is None:
            raise EditionLockNeededError
        if unapplied:
            apply_evidence(cursor, claim.edition, unapplied)
        return True

    # Only making batches ready or stopping the edition needs the lock. The common case does not.
    lock_first = (
        looked_up
        or claim.probing
        or settlement.stop_edition is not None
        or settlement.next not in {Next.DONE, Next.LOOK_UP}
    )
    return with_edition_lock_if_needed(claim.edition, settle_in, lock_first=lock_first)


def _acceptances(settlement: Settlement) -> list[tuple[int, Sent]]:
    return [
        (recipient, outcome)
        for recipient, outcome in settlement.outcomes.items()
        if isinstance(outcome, Sent)
    ]


def _change_batch(
    cursor: CursorWrapper, claim: Claim, settlement: Settlement, looked_up: bool, control: str
) -> bool | None:
    """Make the guarded transition; return whether the edition is probing.

    Returns None if the guard failed."""
    looks_up = settlement.next is Next.LOOK_UP
    match settlement.next:
        case Next.LOOK_UP:
            state = "unknown"
        case Next.WAIT_FOR_DECISION:
            # Waiting deliveries continue after a resume. Unknown ones need a decision.
            state = "parked" if looked_up else "paused"
        case _:
            state = "ready" if control == "running" else "paused"
    change = changed_counts(settlement.outcomes, old="unknown" if looked_up else "waiting")
    values: dict[str, Any] = {
        "batch": claim.batch,
        "epoch": claim.epoch,
        "was": "looking_up" if looked_up else "sending",
        "state": state,
        "delay": settlement.delay_s,
        "lookup_after": settlement.lookup_after_s,
        "looks_up": looks_up,
        "newly_unknown": looks_up and not looked_up,
        "confirmed_absent": int(settlement.confirmed_absent),
        "tries": int(settlement.counts_as_try),
        "deferrals": settlement.new_deferrals,
        "blocked": settlement.new_blocked,
        "survived": not looked_up,
        "reason": dumps(settlement.reason),
        **{name: change[name] for name in COUNTS},
    }
    cursor.execute(_CHANGE_BATCH, values)
    row = cursor.fetchone()
    return None if row is None else bool(row[0])


# When the batch became unknown, and whether it still has open deliveries.
_SINCE = """CASE WHEN %(newly_unknown)s THEN clock_timestamp()
                 WHEN %(looks_up)s OR %(state)s = 'parked' THEN unknown_since END"""
_IS_OPEN = "waiting + %(waiting)s + unknown + %(unknown)s > 0"

# One statement, because state and counts must always agree. A batch without open deliveries is
# done, even if the settlement names another step.
_CHANGE_BATCH = f"""
    UPDATE batch SET
        state = CASE WHEN {_IS_OPEN} THEN %(state)s ELSE 'done' END,
        owner = NULL, lease_until = NULL,
        due_at = greatest(clock_timestamp() + make_interval(secs => %(delay)s),
                          {_SINCE} + make_interval(secs => %(lookup_after)s)),
        unknown_since = {_SINCE},
        attempt = CASE WHEN %(newly_unknown)s OR {_SINCE} IS NOT NULL THEN attempt END,
        lookups = CASE WHEN %(looks_up)s AND NOT %(newly_unknown)s
                       THEN lookups + %(confirmed_absent)s
                       ELSE 0 END,
        tries = tries + %(tries)s,
        deferrals = %(deferrals)s,
        blocked = %(blocked)s,
        crashes = CASE WHEN %(survived)s THEN 0 ELSE crashes END,
        reason = CASE WHEN {_IS_OPEN} THEN %(reason)s ELSE '' END,
        {", ".join(f"{name} = {name} + %({name})s" for name in COUNTS)}
    WHERE id = %(batch)s AND state = %(was)s AND epoch = %(epoch)s
    RETURNING (SELECT probing FROM edition WHERE edition.id = edition_id)
"""  # noqa: S608 -- the names are constants


def _change_deliveries(
    cursor: CursorWrapper, claim: Claim, settlement: Settlement, looked_up: bool, control: str
) -> None:
    write_outcomes(
        cursor,
        claim.batch,
        settlement.outcomes,
        old="unknown" if looked_up else "waiting",
        evidence="lookup" if looked_up else "reply",
    )
    refused = [
        recipient
        for recipient, outcome in settlement.outcomes.items()
        if isinstance(outcome, Failed) and outcome.refused
    ]
    if refused:
        readers.registered().mark_refused(refused, claim.kind)
    if control == "cancelled":
        # The edition ended during the call or look-up, so copies that were not accepted are
        # withdrawn.
        if settlement.next is not Next.LOOK_UP:
            quarantine_marked(cursor, claim.edition, batch=claim.batch)
            withdraw_waiting(cursor, claim.edition, batch=claim.batch)
    elif settlement.next is Next.HALVE:
        halve(cursor, claim.batch, claim.edition)
    elif (
        looked_up
        and settlement.next is Next.WAIT_FOR_DECISION
        and (waiting := waiting_recipients(cursor, claim.batch))
    ):
        # Deliveries that were provably not accepted must not wait for a decision with unknown ones.
        split_off(cursor, claim.batch, claim.edition, waiting)


def _change_edition(
    cursor: CursorWrapper, claim: Claim, settlement: Settlement, looked_up: bool, probing: bool
) -> None:
    if settlement.stop_edition is not None:
        logger.error("edition %d stops: %s", claim.edition, settlement.stop_edition)
        stop(cursor, claim.edition, settlement.stop_edition)
    elif claim.probing and not looked_up and _was_judged(settlement):
        end_probe(cursor, claim.edition)
    elif probing:
        pass_probe_on(cursor, claim.edition)


def _was_judged(settlement: Settlement) -> bool:
    """Whether the provider judged deliveries of this call.

    A look-up may find older acceptances."""
    return any(
        isinstance(outcome, Sent | Suppressed | Failed) for outcome in settlement.outcomes.values()
    )


_RESULTS: Mapping[type[CallResult], Attempt.Result] = {
    AllAccepted: Attempt.Result.ANSWERED,
    Answered: Attempt.Result.ANSWERED,
    Unanswered: Attempt.Result.UNKNOWN,
    NotSent: Attempt.Result.NOT_SENT,
}


def attempt_result(result: CallResult) -> Attempt.Result:
    """Convert the result of a call to the result that its attempt records."""
    return _RESULTS.get(type(result), Attempt.Result.REFUSED)
