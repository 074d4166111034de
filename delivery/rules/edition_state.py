"""The state of an edition and what it waits for, derived from its counts, never stored. Pure."""

from datetime import datetime
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

    @property
    def words(self) -> str:
        """The state as pages show it."""
        return self.value.replace("_", " ")


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


def reason_of(counts: EditionCounts) -> Reason | None:
    """What the edition waits for; None when it waits for nothing."""
    match state_of(counts):
        case EditionState.NEEDS_ATTENTION:
            return _why_it_needs_attention(counts)
        case EditionState.PAUSED:
            return counts.control_reason or Reason.of(
                ReasonCode.PAUSED,
                queued=counts.queued,
                being_sent=counts.being_sent,
                unknown=counts.unknown,
                waiting=counts.waiting,
                is_looking_up=bool(counts.queued_batches or counts.leased_batches),
                is_in_call=bool(counts.leased_batches),
            )
        case EditionState.SCHEDULED:
            return _why_it_has_not_started(counts)
        case EditionState.HELD:
            return Reason.of(ReasonCode.HELD, until=counts.held_until)
        case EditionState.SENDING:
            return _why_it_is_not_done(counts)
        case EditionState.CANCELLED | EditionState.CLOSED:
            return _what_an_ended_edition_waits_for(counts)
        case _:
            return None


def _why_it_needs_attention(counts: EditionCounts) -> Reason | None:
    if counts.control == "stopped":
        return counts.control_reason
    if counts.unreconciled:
        return restored(counts.issue)
    if counts.missed and not counts.is_transactional:
        return Reason.of(ReasonCode.READERS_MISSED, missed=counts.missed, unknown=counts.unknown)
    return counts.reason or Reason.of(ReasonCode.UNKNOWN_NEEDS_DECISION, unknown=counts.unknown)


def _why_it_has_not_started(counts: EditionCounts) -> Reason:
    moment = counts.scheduled
    if moment is None:
        raise AssertionError(f"edition {counts.edition} is scheduled for no time")
    if counts.now >= moment.utc and not counts.worker_is_there:
        return Reason.of(ReasonCode.DUE_NO_WORKER, moment=moment, heard_at=counts.worker_heard_at)
    code = ReasonCode.SCHEDULED if counts.now < moment.utc else ReasonCode.DUE
    return Reason.of(code, moment=moment, goes_to=counts.goes_to)


def _why_it_is_not_done(counts: EditionCounts) -> Reason:
    if not counts.worker_is_there:
        return Reason.of(ReasonCode.NO_WORKER, heard_at=counts.worker_heard_at)
    if counts.unknown:
        return Reason.of(
            ReasonCode.LOOKING_UP,
            unknown=counts.unknown,
            waiting=counts.waiting,
            next_lookup_at=_next_lookup_at(counts),
        )
    if counts.next_try_at and counts.next_try_at > counts.now and not counts.leased_batches:
        return Reason.of(ReasonCode.RETRY, last=counts.reason, at=counts.next_try_at)
    if counts.slowed_to_per_s is not None and counts.waiting:
        return Reason.of(ReasonCode.SLOWED, per_s=counts.slowed_to_per_s)
    return Reason.of(ReasonCode.SENDING)


def _what_an_ended_edition_waits_for(counts: EditionCounts) -> Reason | None:
    if counts.waiting:
        return Reason.of(ReasonCode.ENDED_IN_CALL, waiting=counts.waiting)
    if not counts.unknown:
        return None
    if counts.parked_batches and not (counts.queued_batches or counts.leased_batches):
        return Reason.of(ReasonCode.ENDED_UNPROVED, unknown=counts.unknown)
    return Reason.of(
        ReasonCode.ENDED_LOOKING_UP, unknown=counts.unknown, next_lookup_at=_next_lookup_at(counts)
    )


def _next_lookup_at(counts: EditionCounts) -> datetime | None:
    at = counts.next_lookup_at
    return at if at is not None and at > counts.now else None


def restored(issue: UUID) -> Reason:
    """Why an edition stops when its database was found restored."""
    return Reason.of(ReasonCode.RESTORED, issue=str(issue))
