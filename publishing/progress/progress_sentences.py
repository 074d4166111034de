"""The sentences about an edition's progress on pages. Pure."""

from zoneinfo import ZoneInfo

from delivery.humanise import clock, counted_copies, counted_readers
from delivery.interface import ReasonCode
from delivery.reports.edition_words import ARCHIVE_ONLY
from delivery.reports.waiting_sentence import NOTHING_IS_STUCK
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.editions.status import EditionStatus
from publishing.scheduling.local_time import late_start_sentence


def sentence_of(status: EditionStatus, zone: ZoneInfo) -> str:
    """What the state is, until when or why, and what you can do."""
    return f"{_state_sentence(status, zone)} {_late_start(status)}".strip()


def how_far(status: EditionStatus) -> str:
    """How much of a version was sent, or why nothing was."""
    counts = status.counts
    if not counts.has_started:
        return status.reason() or "It reached nobody"
    if counts.goes_to == "nobody":
        return "Not mailed: archive only"
    return f"{counts.sent:,} of {counts.audience:,} sent"


def _late_start(status: EditionStatus) -> str:
    counts, reason = status.counts, status.counts.control_reason
    is_in_reason = reason is not None and reason.code == ReasonCode.STARTED_LATE
    is_in_reason = is_in_reason and status.state is EditionState.PAUSED
    if counts.scheduled is None or not counts.has_started or is_in_reason:
        return ""
    return late_start_sentence(counts.scheduled, counts.published_at)


def _state_sentence(status: EditionStatus, zone: ZoneInfo) -> str:
    counts, reason = status.counts, status.reason(zone)
    match status.state:
        case EditionState.SCHEDULED:
            return reason
        case EditionState.HELD:
            return f"Held. {held_sentence(counts, zone)}"
        case EditionState.SUCCEEDED:
            return _succeeded(counts)
        case EditionState.CANCELLED:
            return f"{_cancelled(counts)} {reason}"
        case EditionState.CLOSED:
            without = _without(counts)
            accepted = f"; a person accepted that {without:,} did not" if without else ""
            return f"Closed. {counted_copies(counts.sent)} went out{accepted}. {reason}"
        case EditionState.NEEDS_ATTENTION:
            return f"Needs attention. {reason}{_nobody_lost(counts)}"
        case EditionState.PAUSED:
            return f"Paused. {reason}"
        case _:
            stuck = what_is_stuck(status, zone)
            return f"Sending. {stuck}" if stuck else reason


def held_sentence(counts: EditionCounts, zone: ZoneInfo) -> str:
    """When the first copy leaves, and to how many readers."""
    return (
        f"The first copy leaves at {clock(counts.held_until, zone)}, to "
        f"{counted_readers(counts.audience)}. Until then it can be called back."
    )


def what_is_stuck(status: EditionStatus, zone: ZoneInfo) -> str:
    """Why an edition that is being sent is slow; empty if nothing is stuck."""
    reason = status.reason(zone)
    return "" if reason == str(NOTHING_IS_STUCK) else reason


def _without(counts: EditionCounts) -> int:
    """How many surely have no copy: an unknown copy may still turn out to have been sent."""
    return counts.audience - counts.sent - counts.unknown - counts.waiting


def _cancelled(counts: EditionCounts) -> str:
    if not (counts.sent or counts.unknown or counts.waiting):
        done = "Called back" if counts.is_called_back else "Cancelled"
        return f"{done}. It reached nobody; its text stays for the next version."
    reached = counted_readers(counts.sent)
    return f"Cancelled. It reached {reached}; {_without(counts):,} did not get it."


_WENT_TO_NOBODY = {
    "everyone": "This issue went to nobody: there was no confirmed reader.",
    "reached": "This version went to nobody: no reader of an earlier one was still confirmed.",
    "unreached": "This version went to nobody: an earlier one had reached every confirmed reader.",
    "nobody": ARCHIVE_ONLY,
}


def _succeeded(counts: EditionCounts) -> str:
    if not counts.audience:
        return str(_WENT_TO_NOBODY[counts.goes_to])
    if counts.sent == 1:
        went = "1 copy went out and Postmark accepted it."
    else:
        went = f"{counts.sent:,} copies went out, one each, and Postmark accepted every one."
    others = counts.audience - counts.sent
    if not others:
        return f"Succeeded. {went}"
    why = " or ".join(
        reason
        for reason, count in (
            ("had left", counts.withdrawn),
            ("may not be mailed", counts.suppressed),
            ("cannot be reached at the address they gave", counts.failed),
        )
        if count
    )
    return f"Succeeded. {went} The other {counted_readers(others)} {why}; nobody is missing."


def _nobody_lost(counts: EditionCounts) -> str:
    """What a stop did to the readers. Said only while nobody failed, for whatever reason."""
    if counts.control != "stopped" or counts.failed:
        return ""
    return " Sending is paused; no reader was marked as failed."
