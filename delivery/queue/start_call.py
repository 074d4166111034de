"""Start the call for a claimed batch: commit the attempt before a byte is sent.

This is the last check that each delivery may be mailed and was not sent before.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from delivery.hooks import reader_hooks
from delivery.models import Delivery, Edition
from delivery.queue.batches.insert_and_split import waiting_deliveries
from delivery.queue.batches.write_outcomes import COUNT_ROWS, COUNTS, change_outcomes
from delivery.queue.claim_due_batch import Claim
from delivery.queue.edition_control import pass_probe_on
from delivery.queue.quarantine_sent_marks import quarantine
from delivery.queue.short_transaction import (
    call_alone,
    call_function,
    lock_edition,
    short_transaction,
)
from delivery.rules.outcomes import Outcome, Suppressed, Withdrawn
from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)


def start(
    claim: Claim, attempt: UUID, worker: UUID, *, deadline_s: float, lease_s: float
) -> list[int]:
    """Record the attempt; hold the batch for the call's deadline plus the lease.

    Returns the recipients of the call: none if the claim is lost or no delivery may be sent. The
    call starts only if the claim is still valid (epoch, lease) and the edition may send.
    """
    values: dict[str, Any] = {
        "batch": claim.batch,
        "epoch": claim.epoch,
        "attempt": attempt,
        "worker": worker,
        "deadline_s": deadline_s,
    }
    if not claim.probing:
        is_started, _, _, unmarked, *_ = call_alone("start_batch_1", lease_s=lease_s, **values)
        if is_started is None or is_started:
            return list(unmarked or ())
    with short_transaction() as cursor:
        lock_edition(cursor, claim.edition)
        is_started, control, probing, *found = call_function(
            cursor, "start_batch_1", alone=False, lease_s=lease_s, **values
        )
        unmarked, marked, misplaced, gone, verdicts = (each or [] for each in found)
        if is_started is None or is_started:
            return list(unmarked)
        if control != "running":
            # The batch was enqueued without the edition's lock while the edition was not running.
            _leave(cursor, claim, "state = 'paused'")
            return []
        if misplaced:
            _make_waiting(cursor, claim.batch, misplaced)
        if marked:
            quarantine(cursor, claim.batch, claim.edition, marked)
        left_out = dict(zip(gone, verdicts, strict=True))
        if claim.kind in {Edition.Kind.TEST, Edition.Kind.INVITATION}:
            waiting = waiting_deliveries(claim.batch).values_list("recipient_id", "address")
            left_out |= unmailable_without_reader(claim.kind, dict(waiting))
        if left_out:
            _leave_out(cursor, claim, left_out)
        recipients = [recipient for recipient in unmarked if recipient not in left_out]
        if recipients:
            call_function(
                cursor,
                "record_attempt_1",
                edition=claim.edition,
                messages=len(recipients),
                **values,
            )
            return recipients
        _leave(cursor, claim, "state = 'done', reason = ''")
        if probing:
            pass_probe_on(cursor, claim.edition)
        return []


def _make_waiting(cursor: CursorWrapper, batch: int, misplaced: Sequence[int]) -> None:
    """Set unknown deliveries to waiting if they were manually put into this batch."""
    unknown = Delivery.objects.filter(batch=batch, outcome="unknown")
    unknown.filter(recipient__in=misplaced).update(outcome="waiting")
    _recount(cursor, batch)


def _recount(cursor: CursorWrapper, batch: int) -> None:
    """Set a batch's counts from its rows. The caller holds the batch."""
    logger.critical("batch %d is recounted: its rows were changed outside the queue", batch)
    cursor.execute(
        f"""
        UPDATE batch SET {", ".join(f"{name} = held.{name}" for name in ("size", *COUNTS))}
        FROM (SELECT {COUNT_ROWS} FROM delivery WHERE batch_id = %(batch)s) AS held
        WHERE id = %(batch)s
        """,  # noqa: S608 -- constants
        {"batch": batch},
    )


def _leave(cursor: CursorWrapper, claim: Claim, change: str) -> None:
    """Give up a batch without sending anything."""
    cursor.execute(
        f"""
        UPDATE batch SET {change}, attempt = NULL, owner = NULL, lease_until = NULL
        WHERE id = %s AND state = 'sending' AND epoch = %s
        """,  # noqa: S608 -- a constant
        [claim.batch, claim.epoch],
    )


def _leave_out(cursor: CursorWrapper, claim: Claim, verdicts: Mapping[int, str]) -> None:
    """Settle deliveries that may not be sent any more."""
    is_for_readers = claim.kind in {Edition.Kind.NEWSLETTER, Edition.Kind.WELCOME}
    code = ReasonCode.LEFT if is_for_readers else ReasonCode.NOT_HELD_ANY_MORE
    by_verdict: Mapping[str, Outcome] = {
        "withdrawn": Withdrawn(Reason.of(code)),
        "left_topic": Withdrawn(Reason.of(ReasonCode.LEFT_TOPIC)),
        "suppressed": Suppressed(Reason.of(ReasonCode.ON_SUPPRESSION_LIST)),
    }
    outcomes = {recipient: by_verdict[verdict] for recipient, verdict in verdicts.items()}
    change_outcomes(cursor, claim.batch, outcomes)


def unmailable_without_reader(kind: str, addresses: Mapping[int, str]) -> Mapping[int, str]:
    """Return the verdict on a mail that has no reader, by recipient id.

    Such a mail is a test letter or an invitation. Only its address is checked: the address may be
    erased and, for a test letter, suppressed.
    """
    suppressed = (
        reader_hooks.registered().suppressed_among(list(addresses.values()))
        if kind == Edition.Kind.TEST
        else ()
    )
    return {
        recipient: "suppressed" if address else "withdrawn"
        for recipient, address in addresses.items()
        if not address or address in suppressed
    }
