"""The state of an edition, derived from its counts, never stored. Pure."""

from enum import StrEnum
from uuid import UUID

from delivery.rules.edition_counts import EditionCounts
from delivery.rules.reason import Reason, ReasonCode


class EditionState(StrEnum):
    """The life of an edition."""

    SCHEDULED = "scheduled"
    HELD = "held"
    SENDING = "sending"
    PAUSED = "paused"
    NEEDS_ATTENTION = "needs_attention"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"
    CLOSED = "closed"


# A person has to do something, or has done the last thing there is to do.
AWAITS_DECISION = frozenset({EditionState.PAUSED, EditionState.NEEDS_ATTENTION})


def state_of(counts: EditionCounts) -> EditionState:
    """The state of an edition: `sending` while anything in it still moves automatically."""
    if counts.control in {"cancelled", "closed"}:
        return EditionState(counts.control)
    if counts.control == "stopped":
        return EditionState.NEEDS_ATTENTION
    if counts.control == "scheduled":
        # Its time may have come and gone while the database was being restored.
        return EditionState.NEEDS_ATTENTION if counts.unreconciled else EditionState.SCHEDULED
    is_open = counts.waiting > 0 or counts.unknown > 0
    if counts.unreconciled and is_open:
        return EditionState.NEEDS_ATTENTION
    if counts.control == "paused" and is_open:
        return EditionState.PAUSED
    if is_open and counts.now < counts.held_until:
        return EditionState.HELD
    if counts.leased_batches or counts.queued_batches:
        return EditionState.SENDING
    # Who was missed by mail on request asks again; nobody has to decide.
    if is_open or (counts.missed and not counts.is_transactional):
        return EditionState.NEEDS_ATTENTION
    return EditionState.SUCCEEDED


def awaits_decision(counts: EditionCounts) -> bool:
    """Whether nothing more happens to it until a person does something."""
    if state_of(counts) is EditionState.CANCELLED:
        return counts.unknown > 0 and not (counts.queued_batches or counts.leased_batches)
    return state_of(counts) in AWAITS_DECISION


def restored(issue: UUID) -> Reason:
    """Why an edition stops when its database was found restored."""
    return Reason.of(ReasonCode.RESTORED, issue=str(issue))
