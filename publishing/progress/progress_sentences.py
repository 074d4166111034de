"""The sentences about an edition's progress on pages. Pure."""

from zoneinfo import ZoneInfo

from delivery.humanise import clock, counted_copies, counted_readers
from delivery.interface import ReasonCode
from delivery.rules.edition_counts import ARCHIVE_ONLY, EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.editions.status import EditionStatus
from publishing.scheduling.local_time import late_start_sentence


def sentence_of(status: EditionStatus, zone: ZoneInfo) -> str:
    """What the state is, until when or why, and what you can do."""
    return f"{_state_sentence(status, zone)} {_late_start(status)}".strip()


def how_far(status: EditionStatus) -> str:
    """How much of a version was sent, or why nothing was."""
    books = status.books
    if not books.has_started:
        return status.reason or "It reached nobody"
    if books.goes_to == "nobody":
        return "Not mailed: archive only"
    return f"{books.sent:,} of {books.audience:,} sent"


def _late_start(status: EditionStatus) -> str:
    books = status.books
    is_said = status.why is not None and status.why.code == ReasonCode.STARTED_LATE
    if books.scheduled is None or not books.has_started or is_said:
        return ""
    return late_start_sentence(books.scheduled, books.published_at)


def _state_sentence(status: EditionStatus, zone: ZoneInfo) -> str:
    books, reason = status.books, status.reason_in(zone)
    match status.state:
        case EditionState.SCHEDULED:
            return reason
        case EditionState.HELD:
            return f"Held. {held_sentence(books, zone)}"
        case EditionState.SUCCEEDED:
            return _succeeded(books)
        case EditionState.CANCELLED:
            return f"{_cancelled(books)} {reason}"
        case EditionState.CLOSED:
            without = _without(books)
            accepted = f"; a person accepted that {without:,} did not" if without else ""
            return f"Closed. {counted_copies(books.sent)} went out{accepted}. {reason}"
        case EditionState.NEEDS_ATTENTION:
            return f"Needs attention. {reason}{_nobody_lost(books)}"
        case EditionState.PAUSED:
            return f"Paused. {reason}"
        case _:
            stuck = what_is_stuck(status, zone)
            return f"Sending. {stuck}" if stuck else reason


def held_sentence(books: EditionCounts, zone: ZoneInfo) -> str:
    """When the first copy leaves, and to how many readers."""
    return (
        f"The first copy leaves at {clock(books.held_until, zone)}, to "
        f"{counted_readers(books.audience)}. Until then it can be called back."
    )


def what_is_stuck(status: EditionStatus, zone: ZoneInfo) -> str:
    """Why an edition that is being sent is slow; empty if nothing is stuck."""
    is_stuck = status.why is None or status.why.code != ReasonCode.SENDING
    return status.reason_in(zone) if is_stuck else ""


def _without(books: EditionCounts) -> int:
    """How many surely have no copy: an unknown copy may still turn out to have been sent."""
    return books.audience - books.sent - books.unknown - books.waiting


def _cancelled(books: EditionCounts) -> str:
    if not (books.sent or books.unknown or books.waiting):
        done = "Called back" if books.is_called_back else "Cancelled"
        return f"{done}. It reached nobody; its text stays for the next version."
    return (
        f"Cancelled. It reached {counted_readers(books.sent)}; {_without(books):,} did not get it."
    )


_WENT_TO_NOBODY = {
    "everyone": "This issue went to nobody: there was no confirmed reader.",
    "reached": "This version went to nobody: no reader of an earlier one was still confirmed.",
    "unreached": "This version went to nobody: an earlier one had reached every confirmed reader.",
    "nobody": ARCHIVE_ONLY,
}


def _succeeded(books: EditionCounts) -> str:
    if not books.audience:
        return _WENT_TO_NOBODY[books.goes_to]
    if books.sent == 1:
        went = "1 copy went out and Postmark accepted it."
    else:
        went = f"{books.sent:,} copies went out, one each, and Postmark accepted every one."
    others = books.audience - books.sent
    if not others:
        return f"Succeeded. {went}"
    why = " or ".join(
        reason
        for reason, count in (
            ("had left", books.withdrawn),
            ("may not be mailed", books.suppressed),
            ("cannot be reached at the address they gave", books.failed),
        )
        if count
    )
    return f"Succeeded. {went} The other {counted_readers(others)} {why}; nobody is missing."


def _nobody_lost(books: EditionCounts) -> str:
    """What a stop did to the readers. Said only while nobody failed, for whatever reason."""
    if books.control != "stopped" or books.failed:
        return ""
    return " Sending is paused; no reader was marked as failed."
