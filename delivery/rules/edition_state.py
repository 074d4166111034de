"""
How an edition stands, read off its books. Pure: the same books always say the same.

Nothing stores this state, so it cannot disagree with the rows it is about.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from uuid import UUID

from delivery.humanise import clock, counted
from delivery.rules.edition_counts import EditionCounts


class EditionState(StrEnum):
    """The life of an edition. Shown with spaces on pages."""

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
        """As a person reads it."""
        return self.value.replace("_", " ")


# A person has to do something, or has done the last thing there is to do.
AWAITS_DECISION = frozenset({EditionState.PAUSED, EditionState.NEEDS_ATTENTION})


def state_of(books: EditionCounts) -> EditionState:
    """
    The state of an edition.

    `succeeded` only when nothing is waiting or unknown and nobody was missed. While anything still
    moves by itself an edition is `sending`, even if something else in it waits for a person.
    """
    if books.control == "cancelled":
        return EditionState.CANCELLED
    if books.control == "closed":
        return EditionState.CLOSED
    if books.control == "stopped":
        return EditionState.NEEDS_ATTENTION
    if books.control == "scheduled":
        # Its time may have come and gone while the database was being restored.
        return EditionState.NEEDS_ATTENTION if books.unreconciled else EditionState.SCHEDULED
    is_open = books.waiting > 0 or books.unknown > 0
    if books.unreconciled and is_open:
        return EditionState.NEEDS_ATTENTION
    if books.control == "paused" and is_open:
        return EditionState.PAUSED
    if is_open and books.now < books.held_until:
        return EditionState.HELD
    if books.in_work or books.in_line:
        return EditionState.SENDING
    # Who was missed by mail on request asks again; nobody has to decide.
    if is_open or (books.missed and not books.is_transactional):
        return EditionState.NEEDS_ATTENTION
    return EditionState.SUCCEEDED


def awaits_decision(books: EditionCounts) -> bool:
    """Whether nothing more happens to it until a person does something."""
    if state_of(books) is EditionState.CANCELLED:
        return books.unknown > 0 and not (books.in_line or books.in_work)
    return state_of(books) in AWAITS_DECISION


def _clock(at: datetime, zone: tzinfo) -> str:
    """A time of the day; that it is UTC is said, because no page's times are by themselves."""
    return f"{clock(at, zone)}{' UTC' if zone is UTC else ''}"


def reason_of(books: EditionCounts, zone: tzinfo = UTC) -> str:
    """
    What the edition waits for, in one sentence; empty when it waits for nothing.

    Its times are in `zone`: scripts read UTC, a page the zone of all its times.
    """
    match state_of(books):
        case EditionState.NEEDS_ATTENTION if books.control == "stopped":
            return books.control_reason
        case EditionState.NEEDS_ATTENTION if books.unreconciled:
            return stopped_because(books.issue)
        case EditionState.NEEDS_ATTENTION if books.missed and not books.is_transactional:
            doubt = (
                f" {counted(books.unknown, 'copy is', 'copies are')} in doubt: a person has to "
                "decide."
                if books.unknown
                else ""
            )
            return (
                f"{counted(books.missed, 'reader was', 'readers were')} missed: all tries were "
                f"used up, or a copy was parked.{doubt}"
            )
        case EditionState.NEEDS_ATTENTION:
            return books.reason or (
                f"{counted(books.unknown, 'copy', 'copies')} in doubt: a person has to decide."
            )
        case EditionState.PAUSED:
            return books.control_reason or _what_a_pause_holds(books)
        case EditionState.SCHEDULED:
            return _when_it_goes_out(books, zone)
        case EditionState.HELD:
            return (
                f"The first copy leaves at {_clock(books.held_until, zone)}. "
                "Until then nothing goes out."
            )
        case EditionState.SENDING:
            return _why_it_is_not_done(books, zone)
        case EditionState.CANCELLED | EditionState.CLOSED:
            return _what_an_ended_edition_still_waits_for(books, zone)
        case _:
            return ""


def _when_it_goes_out(books: EditionCounts, zone: tzinfo) -> str:
    moment = books.scheduled
    if moment is None:
        raise AssertionError(f"edition {books.edition} is scheduled for no time")
    if books.goes_to == "nobody" and books.now < moment.utc:
        return f"Appears in the archive {moment.words}. It is not mailed."
    if books.now < moment.utc:
        return f"Goes out {moment.words}, to {books.whom} by then."
    due = f"Its time has come: {moment.words}."
    if books.worker_is_there:
        return f"{due} A worker starts it now, to {books.whom}."
    return f"{due} {_no_worker(books, zone)}"


def _what_an_ended_edition_still_waits_for(books: EditionCounts, zone: tzinfo) -> str:
    """After its end only what had left before it is of interest."""
    if books.waiting:
        return (
            f"{counted(books.waiting, 'copy was', 'copies were')} in a call when it ended; the "
            "call is settled as it ends."
        )
    if books.unknown and books.parked and not (books.in_line or books.in_work):
        return (
            f"{counted(books.unknown, 'copy stays', 'copies stay')} in doubt: no proof came that "
            "Postmark accepted them, and none that it did not."
        )
    if books.unknown:
        return (
            f"{counted(books.unknown, 'copy was', 'copies were')} in the air when it ended: Homing "
            f"is asking Postmark about {'it' if books.unknown == 1 else 'them'}."
            f"{_asks_again(books, zone)}"
        )
    return ""


def _what_a_pause_holds(books: EditionCounts) -> str:
    sentences = []
    if books.waiting or not books.unknown:
        sentences.append(f"{counted(books.queued, 'copy waits', 'copies wait')} until you resume.")
    if books.being_sent:
        sentences.append(
            f"{counted(books.being_sent, 'copy is', 'copies are')} being sent and may still go."
        )
    if books.unknown and (books.in_line or books.in_work):
        sentences.append(f"{counted(books.unknown, 'copy is', 'copies are')} being asked about.")
    elif books.unknown:
        sentences.append(
            f"{counted(books.unknown, 'copy is', 'copies are')} in doubt: a person has to decide."
        )
    elif books.in_work and not books.being_sent:
        sentences.append("Calls that were in the air end first.")
    return " ".join(sentences)


def _asks_again(books: EditionCounts, zone: tzinfo) -> str:
    if books.next_lookup_at is None or books.next_lookup_at <= books.now:
        return ""
    return f" Asks again at {_clock(books.next_lookup_at, zone)}."


def _no_worker(books: EditionCounts, zone: tzinfo) -> str:
    heard = (
        f"The last one was heard from at {_clock(books.worker_heard_at, zone)}."
        if books.worker_heard_at
        else "None was ever heard from."
    )
    return (
        f"No worker is running. {heard} Start one with `./homing deliver`; nothing is lost "
        "meanwhile."
    )


def _why_it_is_not_done(books: EditionCounts, zone: tzinfo) -> str:
    if not books.worker_is_there:
        return _no_worker(books, zone)
    if books.unknown:
        rest = " and goes on with the rest" if books.waiting else ""
        return (
            f"{counted(books.unknown, 'copy is', 'copies are')} in doubt: Homing is asking "
            f"Postmark about {'it' if books.unknown == 1 else 'them'}{rest}."
            f"{_asks_again(books, zone)}"
        )
    if books.next_try_at and books.next_try_at > books.now and not books.in_work:
        return f"{books.reason} The next try is at {_clock(books.next_try_at, zone)}.".strip()
    if books.slowed_to_per_s is not None and books.waiting:
        return (
            "Postmark asked for a slower pace: about "
            f"{counted(max(1, round(books.slowed_to_per_s)), 'copy', 'copies')} a second for now, "
            "and more again from moment to moment."
        )
    return "Sending, and nothing is stuck."


def stopped_because(issue: UUID) -> str:
    """Why an edition stopped when its database was found restored, and what brings it on again."""
    return (
        "This database is not the one that the workers knew: it was restored, moved or promoted, "
        "so copies may have gone out that it does not know of. Run "
        f"`./homing reconcile {issue}`; the edition goes on by itself once Postmark's record is in "
        "the books."
    )
