"""
What the progress page says, as text and attributes. Pure: a page and its later readings agree.

The template writes it when the page is opened and the script writes it again from
progress.json, so that no number is formatted in two places.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from delivery.humanise import clock, counted_copies, counted_readers, duration
from delivery.rules.edition_counts import ARCHIVE_ONLY, EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.actions.edition_actions import applicable, refuse_reschedule
from publishing.editions.status import EditionStatus
from publishing.progress_bar import ORDER, label_of, parts_of
from publishing.scheduling.local_time import late_start_sentence

GLYPHS = {
    EditionState.SCHEDULED: "held",
    EditionState.HELD: "held",
    EditionState.SENDING: "sending",
    EditionState.PAUSED: "paused",
    EditionState.NEEDS_ATTENTION: "attention",
    EditionState.SUCCEEDED: "sent",
    EditionState.CANCELLED: "withdrawn",
    EditionState.CLOSED: "done",
}
TONES = {
    EditionState.SENDING: "sent",
    EditionState.SUCCEEDED: "sent",
    EditionState.NEEDS_ATTENTION: "fault",
    EditionState.CANCELLED: "calm",
    EditionState.CLOSED: "calm",
}
OUTCOME_TONES = {
    "sent": "sent",
    "unknown": "doubt",
    "failed": "fault",
    "suppressed": "calm",
    "withdrawn": "calm",
    "waiting": "calm",
}
AT_REST = frozenset({EditionState.SUCCEEDED, EditionState.CANCELLED, EditionState.CLOSED})


@dataclass(frozen=True, slots=True)
class Reading:
    """
    One reading of an edition, as the page shows it.

    `text` holds every piece of text that may change, by the name it has in the template; `bar` the
    parts of the bar; `zero` the outcomes that nobody has; `shown` the sections that apply;
    `started` is whether it waits for its time no more.
    """

    text: dict[str, str]
    bar: list[dict[str, str]]
    label: str
    glyph: str
    tone: str
    zero: list[str]
    shown: list[str]
    started: bool
    held_s: int
    at_rest: bool


def counts_of(books: EditionCounts) -> dict[str, int]:
    """The counts by outcome, in their order."""
    return {outcome: getattr(books, outcome) for outcome in ORDER}


def is_at_rest(status: EditionStatus) -> bool:
    """Whether nothing more happens by itself. What had left before an end is still settled."""
    return status.state in AT_REST and not (status.books.in_work or status.books.in_line)


def is_public(books: EditionCounts) -> bool:
    """Whether the archive shows it: it is no mail on request, it has started, the hold is over, and
    it was not cancelled before it reached anybody (archived_editions.py)."""
    if books.is_transactional or books.control == "scheduled":
        return False
    return books.now >= books.held_until and (books.control != "cancelled" or books.sent > 0)


def reading_of(status: EditionStatus, zone: ZoneInfo) -> Reading:
    """What the page says of this status, with times in `zone`."""
    books, counts = status.books, counts_of(status.books)
    return Reading(
        text={
            "state": status.words.capitalize(),
            "sentence": sentence_of(status, zone),
            "begun": status.was_done.capitalize(),
            "begun_when": _begun_when(books, zone),
            **{f"count_{outcome}": f"{counts[outcome]:,}" for outcome in ORDER},
            "count_missed": f"{books.missed:,}",
            # It grows while the page is open: at the start of what waited for its time.
            "audience": f"{books.audience:,}",
            **{f"note_{outcome}": note for outcome, note in _notes(status, zone).items()},
            "of": f"of {books.audience:,} sent" if books.has_started else "sent",
            "left": _left(status),
            "rate": _rate(books),
            "time_left": _time_left(status, zone),
            "came_back": _came_back(books),
            "worker": _worker(books),
            "worker_heard": _worker_heard(books, zone),
            # Of use while nobody was reached when the page was opened.
            "write": "Write a correction" if books.sent else "Write the next version",
            "updated": clock(books.now, zone),
            "clock": _countdown(_held_s(status)),
            "scheduled": books.scheduled.words if books.scheduled else "",
            "hold": _hold(books, zone),
            "doubt": _doubt(books, zone),
            "doubt_means": _doubt_means(books),
            "next_lookup": _next_lookup(books, zone),
            "doubt_ends": _doubt_ends(books),
            "sum": _sum(books),
            "no_archive": _no_archive(books),
        },
        bar=[asdict(part) for part in parts_of(counts)],
        label=label_of(counts, books.audience),
        glyph=GLYPHS[status.state],
        tone=TONES.get(status.state, ""),
        zero=[outcome for outcome in ORDER if not counts[outcome]],
        shown=[action.name for action in applicable(status)]
        + [
            name
            for name, applies in (
                ("reschedule", not refuse_reschedule(status)),
                ("held", status.state is EditionState.HELD),
                ("doubt", books.unknown > 0),
                ("archive", is_public(books)),
                ("no_archive", not is_public(books)),
                ("receipt", is_at_rest(status)),
                ("came_back", books.sent + books.bounced + books.complained > 0),
                ("pace", status.state not in AT_REST and books.has_started),
            )
            if applies
        ],
        started=books.has_started,
        held_s=_held_s(status),
        at_rest=is_at_rest(status),
    )


def _sum(books: EditionCounts) -> str:
    if not books.balanced:
        return "does not add up: run ./homing audit"
    if books.control == "scheduled":
        return "who is in it is settled when it goes out"
    return f"adds up; {who_was_in_it(books)}"


def who_was_in_it(books: EditionCounts) -> str:
    """When it was settled to whom an edition goes that waits for its time no more."""
    return "frozen when the issue was published" if books.has_started else "it never went out"


def _no_archive(books: EditionCounts) -> str:
    """Why the archive does not show this version. One before it may stand there."""
    if is_public(books):
        return ""
    if books.control == "cancelled" and (books.unknown or books.waiting):
        return "Without this version, as long as no copy is known to have gone out"
    if books.control == "cancelled":
        return "Without this version: it reached nobody"
    return "Not yet: it comes there when the first copy may leave"


def live_json(
    status: EditionStatus, zone: ZoneInfo, versions: Sequence[EditionStatus]
) -> dict[str, Any]:
    """
    The keys of `issue_status`, `rate`, `eta_s`, and `page`: what the page shows.

    `versions` are all versions of the issue; the page compares them if there are several.
    """
    shown = [_version(one) for one in versions] if len(versions) > 1 else []
    return {
        **status.progress_json(),
        "page": {**asdict(reading_of(status, zone)), "versions": shown},
    }


def _version(status: EditionStatus) -> dict[str, Any]:
    """The values of a row of the versions panel that change while copies go out."""
    counts = counts_of(status.books)
    return {
        "version": status.books.version,
        "state": status.words.capitalize(),
        "sent": how_far(status),
        "bar": [asdict(part) for part in parts_of(counts)],
        "label": label_of(counts, status.books.audience),
    }


def how_far(status: EditionStatus) -> str:
    """How much of a version was sent, or why nothing was."""
    books = status.books
    if not books.has_started:
        return status.reason or "It reached nobody"
    if books.goes_to == "nobody":
        return "Not mailed: archive only"
    return f"{books.sent:,} of {books.audience:,} sent"


def tag_of(said: dict[str, Any]) -> str:
    """
    The ETag of what `live_json` said: the same as long as there is nothing new to show.

    What only tells the time is left out of it: when it was read, and how long the hold still lasts.
    """
    page = {name: part for name, part in said["page"].items() if name != "held_s"}
    page["text"] = {
        name: text for name, text in page["text"].items() if name not in {"updated", "clock"}
    }
    news = json.dumps({**said, "page": page}, sort_keys=True).encode()
    return f'"{hashlib.sha256(news).hexdigest()[:32]}"'


def sentence_of(status: EditionStatus, zone: ZoneInfo) -> str:
    """What is so, until when or why, what you can do."""
    late = _late(status)
    return f"{_how_it_is(status, zone)} {late}".strip()


def _late(status: EditionStatus) -> str:
    """That it started late; not where the reason of a pause says so."""
    books = status.books
    if books.scheduled is None or not books.has_started or books.scheduled.words in status.reason:
        return ""
    return late_start_sentence(books.scheduled, books.published_at)


def _how_it_is(status: EditionStatus, zone: ZoneInfo) -> str:
    books, reason = status.books, status.reason_in(zone)
    match status.state:
        case EditionState.SCHEDULED:
            return reason
        case EditionState.HELD:
            return (
                f"Held. The first copy leaves at {clock(books.held_until, zone)}, to "
                f"{counted_readers(books.audience)}. Until then it can be called back."
            )
        case EditionState.SUCCEEDED:
            return _succeeded(books)
        case EditionState.CANCELLED:
            return f"{_cancelled(books)}{_still(reason)}"
        case EditionState.CLOSED:
            without = _without(books)
            accepted = f"; a person accepted that {without:,} did not" if without else ""
            return f"Closed. {counted_copies(books.sent)} went out{accepted}.{_still(reason)}"
        case EditionState.NEEDS_ATTENTION:
            if reason.startswith("The "):
                reason = f"the {reason.removeprefix('The ')}"
            return f"Needs attention: {reason}{_nobody_lost(books)}"
        case EditionState.PAUSED:
            return f"Paused. {reason}"
        case _:
            words = status.state.words.capitalize()
            return reason if reason.startswith(words) else f"{words}. {reason}"


def _without(books: EditionCounts) -> int:
    """How many surely have no copy: doubt may still turn out to have been one."""
    return books.audience - books.sent - books.unknown - books.waiting


def _cancelled(books: EditionCounts) -> str:
    if not (books.sent or books.unknown or books.waiting):
        done = "Called back" if books.is_called_back else "Cancelled"
        return f"{done}. It reached nobody; its text stays for the next version."
    return (
        f"Cancelled. It reached {counted_readers(books.sent)}; {_without(books):,} did not get it."
    )


def _still(reason: str) -> str:
    """What an edition that has ended still waits for, if anything."""
    return f" {reason}" if reason else ""


_WENT_TO_NOBODY = {
    "everyone": "This issue went to nobody: there was no confirmed reader.",
    "reached": "This version went to nobody: no reader of an earlier one was still confirmed.",
    "unreached": "This version went to nobody: an earlier one had reached every confirmed reader.",
    "nobody": ARCHIVE_ONLY,
}


def _succeeded(books: EditionCounts) -> str:
    if not books.audience:
        # Whether it is listed stands beside it, and may be changed there.
        return _WENT_TO_NOBODY[books.goes_to]
    if books.sent == 1:
        went = "1 copy went out and Postmark accepted it."
    else:
        went = f"{books.sent:,} copies went out, one each, and Postmark accepted every one."
    others = books.audience - books.sent
    if not others:
        return f"Succeeded. {went}"
    reasons = [
        reason
        for reason, count in (
            ("had left", books.withdrawn),
            ("may not be mailed", books.suppressed),
            ("cannot be reached at the address they gave", books.failed),
        )
        if count
    ]
    why = " or ".join(reasons)
    return f"Succeeded. {went} The other {counted_readers(others)} {why}; nobody is missing."


def _nobody_lost(books: EditionCounts) -> str:
    """What a stop did to the readers. Said only while nobody failed, for whatever reason."""
    if books.control != "stopped" or books.failed:
        return ""
    return " Sending is paused; no reader was marked as failed."


def _notes(status: EditionStatus, zone: ZoneInfo) -> dict[str, str]:
    """What stands beside each count of the ledger; nothing beside a zero."""
    books = status.books
    match status.state:
        case EditionState.HELD:
            waiting = f"held until {clock(books.held_until, zone)}"
        case EditionState.NEEDS_ATTENTION | EditionState.PAUSED if books.being_sent:
            waiting = f"{books.being_sent:,} being sent; the others wait for you"
        case EditionState.NEEDS_ATTENTION | EditionState.PAUSED:
            waiting = "untouched; they wait for you"
        case EditionState.CANCELLED:
            waiting = "in a call when it ended"
        case _:
            waiting = "in line, or in a call"
    left_to_a_person = _is_left_to_a_person(books)
    cancelled = status.state is EditionState.CANCELLED
    is_dropped = books.copies_dropped_at is not None
    notes = {
        "sent": "Postmark accepted them"
        if is_dropped
        else "Postmark accepted them; each has its proof",
        "unknown": "no answer came back, and none is to be had by asking"
        if left_to_a_person
        else "no answer came back; Postmark is asked about them",
        "failed": "not sent"
        if is_dropped
        else "not sent; the reason stands with each reader, below",
        "suppressed": "may not be mailed: they bounced or complained before",
        "withdrawn": "no mail was sent to them: it ended, or they left, before their copy"
        if cancelled
        else "left before their copy; no mail was sent to them",
        "waiting": waiting,
    }
    return {outcome: notes[outcome] if getattr(books, outcome) else "" for outcome in ORDER}


def _left(status: EditionStatus) -> str:
    if status.state is EditionState.SENDING and status.eta_s is not None:
        return f"about {duration(status.eta_s)} left"
    return ""


def _rate(books: EditionCounts) -> str:
    return f"{books.rate_per_s * 60:,.0f} a minute"


def _time_left(status: EditionStatus, zone: ZoneInfo) -> str:
    if status.state is not EditionState.SENDING:
        return "not known while nothing goes out"
    if status.eta_s is not None:
        return f"about {duration(status.eta_s)}"
    books = status.books
    if books.unknown and not books.waiting:
        asks_at = _asks_at(books)
        when = f"asked about again at {clock(asks_at, zone)}" if asks_at else "being asked about"
        return f"not known: what is in doubt is {when}"
    if books.sent:
        return "not known: nothing went out in the last minute"
    return "not known before the first copies are out"


def _came_back(books: EditionCounts) -> str:
    """What the provider told after it had accepted them; no outcome, so it is in no sum."""
    if not books.bounced + books.complained:
        return "nothing, as far as Postmark has told"
    return f"{books.bounced:,} bounced, {books.complained:,} called spam"


def _worker(books: EditionCounts) -> str:
    return "at work" if books.worker_is_there else "none is running"


def _worker_heard(books: EditionCounts, zone: ZoneInfo) -> str:
    if books.worker_is_there:
        # Not when: that would be news every few seconds.
        return "heard from within the last minute"
    if books.worker_heard_at is None:
        return "start one with ./homing deliver"
    return f"last heard from at {clock(books.worker_heard_at, zone)}"


def _begun_when(books: EditionCounts, zone: ZoneInfo) -> str:
    """When it was published, or for when it was scheduled, as it follows its author's name."""
    if not books.has_started and books.scheduled is not None:
        return f" for {books.scheduled.words}"
    at = books.published_at.astimezone(zone)
    return f", {at:%a} {at.day} {at:%b %Y, %H:%M:%S} {_zone_of(at, zone)}"


def _hold(books: EditionCounts, zone: ZoneInfo) -> str:
    """How long nothing leaves, and until when; the time of a copy is not to be read off it."""
    if books.control == "scheduled":
        return "none: until its time it can be called back"
    held_s = (books.held_until - books.published_at).total_seconds()
    if held_s < 1:
        return "none"
    hold = f"{held_s:.1f}".removesuffix(".0") + " s"
    if books.control == "cancelled" and books.control_at and books.control_at < books.held_until:
        return f"{hold}, in which it was {'called back' if books.is_called_back else 'cancelled'}"
    return f"{hold}, until {clock(books.held_until, zone)} {_zone_of(books.held_until, zone)}"


def _doubt(books: EditionCounts, zone: ZoneInfo) -> str:
    if not books.unknown:
        return ""
    since = f" at {clock(books.doubt_since, zone)}" if books.doubt_since else ""
    return f"{counted_copies(books.unknown)} left{since} and no answer came back."


def _is_left_to_a_person(books: EditionCounts) -> bool:
    """Whether nothing is asked any more about what is in doubt."""
    return books.parked > 0 and not books.in_work and books.next_lookup_at is None


def _doubt_means(books: EditionCounts) -> str:
    if _is_left_to_a_person(books):
        return "They may or may not have been accepted, and Postmark could not say which."
    return (
        "They may or may not have been accepted, so Homing asks Postmark before it does anything "
        "else. Nobody gets a second copy in the meantime."
    )


def _doubt_ends(books: EditionCounts) -> str:
    if books.control == "closed":
        return "Should proof still come, they become sent."
    if _is_left_to_a_person(books):
        return "Nothing is sent until a person decides. Should proof still come, they become sent."
    if books.control == "cancelled":
        return "What was accepted becomes sent; what surely was not is withdrawn."
    return (
        "What was accepted becomes sent; what surely was not is sent then, or held for a person, "
        "as the operator has set it."
    )


def _next_lookup(books: EditionCounts, zone: ZoneInfo) -> str:
    if not books.unknown or _is_left_to_a_person(books):
        return ""
    asks_at = _asks_at(books)
    return f"Homing asks again at {clock(asks_at, zone)}." if asks_at else "Homing is asking now."


def _asks_at(books: EditionCounts) -> datetime | None:
    """When the next look-up is due; None if that is now."""
    later = books.next_lookup_at is not None and books.next_lookup_at > books.now
    return books.next_lookup_at if later else None


def _held_s(status: EditionStatus) -> int:
    if status.state is not EditionState.HELD:
        return 0
    return math.ceil((status.books.held_until - status.books.now).total_seconds())


def _countdown(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02}"


def _zone_of(at: datetime, zone: ZoneInfo) -> str:
    """The zone, as it follows a time in it; elsewhere than in UTC with the time there."""
    return "UTC" if zone.key == "UTC" else f"{zone.key} ({at.astimezone(UTC):%H:%M:%S} UTC)"
