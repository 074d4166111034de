"""Settle a batch: write the outcomes in one transaction, guarded by the epoch.

A worker that lost its claim changes no outcome, but its results are kept as evidence.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper
from django.db.models import F
from django.db.models.functions import Least

from delivery.hooks import reader_hooks
from delivery.models import Attempt, Evidence
from delivery.queue.batches.batch_state import withdraw_waiting
from delivery.queue.batches.insert_and_split import halve, split_off, waiting_recipients
from delivery.queue.batches.write_outcomes import (
    COUNTS,
    changed_counts,
    count_outcomes,
    write_outcomes,
)
from delivery.queue.claim_due_batch import Claim, arguments_of_claim, claim_from
from delivery.queue.edition_control import end_probe, pass_probe_on, stop
from delivery.queue.quarantine_sent_marks import quarantine_marked
from delivery.queue.record_evidence import (
    apply_evidence,
    record_acceptances,
    settle_by_evidence,
    unapplied_evidence,
)
from delivery.queue.short_transaction import (
    NEEDS_EDITION_LOCK,
    Calls,
    EditionLockNeededError,
    call_alone,
    call_function,
    lock_edition,
    short_transaction,
    with_edition_lock_if_needed,
)
from delivery.rules.call_results import AllAccepted, Answered, CallResult, NotSent, Unanswered
from delivery.rules.outcomes import (
    AllSent,
    Failed,
    Next,
    Sent,
    Settlement,
    Suppressed,
    is_inactive,
)
from delivery.rules.reason import dumps

logger = logging.getLogger(__name__)


def settle_call(
    claim: Claim, attempt: UUID, settlement: Settlement, result: Attempt.Result
) -> bool:
    """Write how the call of `attempt` ended. Returns False if the claim was lost."""
    if _settle(claim, settlement, attempt=attempt, result=result):
        return True
    _keep_as_evidence(claim, attempt, settlement, result)
    return False


def settle_call_and_claim(
    claim: Claim,
    attempt: UUID,
    settlement: Settlement,
    result: Attempt.Result,
    *,
    worker: UUID,
    lease_s: float,
) -> Claim | None:
    """Write how a call ended, and claim the next batch in the same transaction.

    The settlement and the claim together need one round trip and one commit. Returns None if no
    batch is due, and also after a call that must be settled in more than one statement.
    """
    values = _values(claim, settlement, looked_up=False) | {"attempt": attempt, "result": result}
    next_batch = arguments_of_claim(worker, lease_s, unless_slowed=True)
    row = _settle_alone(claim, settlement, values, then={"claim_batch_1": next_batch})
    if row is None:
        settle_call(claim, attempt, settlement, result)
        return None
    if row[0] is None:
        _keep_as_evidence(claim, attempt, settlement, result)
    return claim_from(row[1:])


def _keep_as_evidence(
    claim: Claim, attempt: UUID, settlement: Settlement, result: Attempt.Result
) -> None:
    """Record the acceptances of a call whose claim was lost."""
    late = list(AllSent.among(settlement.outcomes).items())
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


def settle_lookup(claim: Claim, settlement: Settlement) -> bool:
    """Write the result of a look-up. Returns False if the claim was lost meanwhile."""
    return _settle(claim, settlement)


def _settle(
    claim: Claim,
    settlement: Settlement,
    *,
    attempt: UUID | None = None,
    result: Attempt.Result | None = None,
) -> bool:
    """Settle in a separate transaction. Without `attempt`, settle a look-up.

    Returns False and changes nothing if the guard fails.
    Evidence and probing are read after the batch's row is locked, so that late changes are seen. If
    evidence is found or the edition is probing, everything is repeated under the edition's lock.
    """
    looked_up = attempt is None
    values = _values(claim, settlement, looked_up) | {"attempt": attempt, "result": result}
    if not looked_up:
        row = _settle_alone(claim, settlement, values)
        if row is not None:
            return row[0] is not None

    def settle_in(cursor: CursorWrapper, locked_control: str | None) -> bool:
        control = locked_control or "running"
        (probing,) = call_function(
            cursor,
            "settle_batch_1",
            state=_state_after(settlement, looked_up, control),
            alone=False,
            **values,
        )
        if probing is None:
            return False
        count_outcomes(settlement.outcomes)
        _change_deliveries(cursor, claim, settlement, looked_up, control)
        _change_edition(cursor, claim, settlement, looked_up, probing)
        if looked_up:
            _count_found(cursor, claim, settlement)
        unapplied = unapplied_evidence(cursor, claim.batch)
        if (probing or unapplied) and locked_control is None:
            raise EditionLockNeededError
        if unapplied:
            apply_evidence(cursor, claim.edition, unapplied)
        return True

    lock_first = looked_up or _needs_edition_lock(claim, settlement)
    return with_edition_lock_if_needed(claim.edition, settle_in, lock_first=lock_first)


def _needs_edition_lock(claim: Claim, settlement: Settlement) -> bool:
    """Whether other batches become ready or the edition stops, which is rare."""
    return (
        claim.probing
        or settlement.stop_edition is not None
        or settlement.next not in {Next.DONE, Next.LOOK_UP}
    )


def _settle_alone(
    claim: Claim, settlement: Settlement, values: Mapping[str, Any], then: Calls | None = None
) -> tuple[Any, ...] | None:
    """Settle a call in one statement; return its row, or None if that is impossible.

    The row's first value is None if the claim was lost. The further values are the results of the
    functions in `then`.
    """
    if not isinstance(settlement.outcomes, AllSent) or _needs_edition_lock(claim, settlement):
        return None
    try:
        row = call_alone("settle_batch_1", then=then, state="ready", **values)
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", "") != NEEDS_EDITION_LOCK:
            raise
        return None
    if row[0] is not None:
        count_outcomes(settlement.outcomes)
    return row


def _count_found(cursor: CursorWrapper, claim: Claim, settlement: Settlement) -> None:
    """Count the acceptances that a look-up found, and record second acceptances."""
    if claim.attempt is not None:
        more = len(AllSent.among(settlement.outcomes))
        accepted = Least(F("messages"), F("accepted") + more)
        Attempt.objects.filter(pk=claim.attempt).update(accepted=accepted)
    again = [
        (recipient, sent) for recipient, more in settlement.duplicates.items() for sent in more
    ]
    record_acceptances(cursor, claim.edition, claim.attempt, again, Evidence.Source.LOOKUP)


def _state_after(settlement: Settlement, looked_up: bool, control: str) -> str:
    """Return the state of a batch that still has open deliveries."""
    match settlement.next:
        case Next.LOOK_UP:
            return "unknown"
        case Next.WAIT_FOR_DECISION:
            # Waiting deliveries continue after a resume. Unknown deliveries need a decision.
            return "parked" if looked_up else "paused"
        case _:
            return "ready" if control == "running" else "paused"


def _values(claim: Claim, settlement: Settlement, looked_up: bool) -> dict[str, Any]:
    """Return the values that `settle_batch` writes, except those that are 0 or empty."""
    looks_up = settlement.next is Next.LOOK_UP
    change = changed_counts(settlement.outcomes, old="unknown" if looked_up else "waiting")
    sent = AllSent.among(settlement.outcomes)
    values: dict[str, Any] = {
        "batch": claim.batch,
        "epoch": claim.epoch,
        "was": "looking_up" if looked_up else "sending",
        "delay_s": settlement.delay_s,
        "lookup_after_s": settlement.lookup_after_s,
        "looks_up": looks_up,
        "newly_unknown": looks_up and not looked_up,
        "confirmed_absent": int(settlement.confirmed_absent),
        "tries": int(settlement.counts_as_try),
        "deferrals": settlement.new_deferrals,
        "blocked": settlement.new_blocked,
        "survived": not looked_up,
        "reason": dumps(settlement.reason),
        **{name: change[name] for name in COUNTS},
        "evidence": "lookup" if looked_up else "reply",
        "recipients": array_literal(sent.recipients),
        "message_ids": array_literal(sent.message_ids),
        "times": array_literal(sent.times),
        "accepted": len(sent),
    }
    return {name: value for name, value in values.items() if value}


def array_literal(values: Sequence[object]) -> str:
    """Write a PostgreSQL array as one text; the driver would adapt each value.

    JSON writes numbers, times, printable strings and null as PostgreSQL reads them.
    """
    return f"{{{orjson.dumps(values).decode()[1:-1]}}}"


def _change_deliveries(
    cursor: CursorWrapper, claim: Claim, settlement: Settlement, looked_up: bool, control: str
) -> None:
    others = {
        recipient: outcome
        for recipient, outcome in settlement.outcomes.items()
        if not isinstance(outcome, Sent)
    }
    write_outcomes(cursor, claim.batch, others, old="unknown" if looked_up else "waiting")
    refused = [
        recipient
        for recipient, outcome in settlement.outcomes.items()
        if isinstance(outcome, Failed) and outcome.refused
    ]
    if refused:
        reader_hooks.registered().mark_refused(refused, claim.kind)
    inactive = [recipient for recipient, outcome in others.items() if is_inactive(outcome)]
    if inactive:
        reader_hooks.registered().mark_inactive(inactive, claim.kind, claim.version)
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
        and (waiting := waiting_recipients(claim.batch))
    ):
        # Deliveries that were provably not accepted must not wait for a decision together with
        # unknown deliveries.
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

    A look-up may find acceptances of older calls.
    """
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
