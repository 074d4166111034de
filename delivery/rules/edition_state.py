"""The state of an edition, which is derived from its counts and never stored."""

from enum import StrEnum
from uuid import UUID

from delivery.rules.edition_counts import EditionCounts
from delivery.rules.reason import Reason, ReasonCode


class EditionState(StrEnum):
    """The states of an edition."""

    SCHEDULED = "scheduled"
    HELD = "held"
    SENDING = "sending"
    PAUSED = "paused"
    NEEDS_ATTENTION = "needs_attention"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"
    CLOSED = "closed"


# States in which an author or operator must act.
AWAITS_DECISION = frozenset({EditionState.PAUSED, EditionState.NEEDS_ATTENTION})


def state_of(counts: EditionCounts) -> EditionState:
    """Derive the state: `sending` while Homing still sends or looks up a copy."""
    if counts.control in {"cancelled", "closed"}:
        return EditionState(counts.control)
    if counts.control == "stopped":
        return EditionState.NEEDS_ATTENTION
    if counts.control == "scheduled":
        # The scheduled time may have passed while the database was being restored.
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
    # Readers who did not get a transactional mail request the mail again, so nobody has to decide.
    if is_open or (counts.missed and not counts.is_transactional):
        return EditionState.NEEDS_ATTENTION
    return EditionState.SUCCEEDED


def awaits_decision(counts: EditionCounts) -> bool:
    """Whether the edition continues only after a decision."""
    if state_of(counts) is EditionState.CANCELLED:
        return counts.unknown > 0 and not (counts.queued_batches or counts.leased_batches)
    return state_of(counts) in AWAITS_DECISION


def restored(issue: UUID) -> Reason:
    """Return the reason for editions that stop because the database was restored."""
    return Reason.of(ReasonCode.RESTORED, issue=str(issue))
