"""A record in the words of the pages that show it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from subscribers.data_requests.personal_data import CopyHeld, Line, Record, Told
from subscribers.models.consent_record import Act, How
from subscribers.models.subscriber import Subscriber
from subscribers.models.suppression import why_suppressed

STATES: Mapping[str, str] = MappingProxyType(
    {
        Subscriber.State.PENDING: "Not confirmed yet",
        Subscriber.State.CONFIRMED: "Confirmed",
        Subscriber.State.UNSUBSCRIBED: "Left the list",
        Subscriber.State.BOUNCED: "Bounced: the address did not take mail",
        Subscriber.State.COMPLAINED: "Called a letter spam",
    }
)
# As the desk draws them.
GLYPHS: Mapping[str, str] = MappingProxyType(
    {
        Subscriber.State.PENDING: "held",
        Subscriber.State.CONFIRMED: "sent",
        Subscriber.State.UNSUBSCRIBED: "withdrawn",
        Subscriber.State.BOUNCED: "failed",
        Subscriber.State.COMPLAINED: "suppressed",
    }
)
TONES: Mapping[str, str] = MappingProxyType(
    {
        Subscriber.State.PENDING: "",
        Subscriber.State.CONFIRMED: "sent",
        Subscriber.State.UNSUBSCRIBED: "calm",
        Subscriber.State.BOUNCED: "fault",
        Subscriber.State.COMPLAINED: "fault",
    }
)
OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        "waiting": "waits to be sent",
        "sent": "sent; the mail provider accepted it",
        "unknown": "left, and no answer came; being asked about",
        "suppressed": "not sent; the address may not be mailed",
        "withdrawn": "not sent; withdrawn before it left",
        "failed": "not sent; it failed",
    }
)


# A page shows the latest; the file has them all.
COPIES_SHOWN = 50


@dataclass(frozen=True, slots=True)
class LineInWords:
    """One line of the ledger as a sentence, with what stands behind it."""

    at: datetime
    sentence: str
    more: Sequence[str]
    wording: str


@dataclass(frozen=True, slots=True)
class CopyInWords:
    """One mail that was made for them."""

    title: str
    version: int
    is_letter: bool
    published_at: datetime
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Words:
    """What a page says of a record beyond its plain values. The latest mail comes first."""

    state: str
    came_by: str
    shut_out: str
    provider: Sequence[str]
    ledger: Sequence[LineInWords]
    copies: Sequence[CopyInWords]
    told: Sequence[Told]


# On a person's own page, where the desk's words would speak of them as of somebody else.
_TO_THEM: Mapping[str, str] = MappingProxyType(
    {
        Act.CONFIRMED: "confirmed by your own press of the button",
        Act.RECORD_ASKED: "asked what is held about you",
        How.ONE_CLICK: "by the button of your mail program",
    }
)


def in_words(record: Record, *, to_them: bool = False) -> Words:
    """The record in words; `to_them` if it is the person themselves who reads."""
    shut = record.shut_out
    return Words(
        state=STATES[record.state],
        came_by=_way(record),
        shut_out=f"The address may not be mailed: {why_suppressed(shut.reason, shut.origin)}."
        if shut and not shut.lifted_at
        else "",
        provider=_provider(record),
        ledger=[_line(line, _TO_THEM if to_them else {}) for line in record.ledger],
        copies=[_copy(copy, to_them) for copy in list(reversed(record.copies))[:COPIES_SHOWN]],
        told=list(reversed(record.provider_told))[:COPIES_SHOWN],
    )


def _way(record: Record) -> str:
    if record.file:
        return f"by an import of the file {record.file}"
    return How.API.label if record.came_by == Subscriber.Source.API else "by a sign-up"


def _copy(copy: CopyHeld, to_them: bool) -> CopyInWords:
    return CopyInWords(
        copy.title,
        copy.version,
        copy.kind == "newsletter",
        copy.published_at,
        OUTCOMES[copy.outcome],
        copy.reason.replace("their copy", "your copy") if to_them else copy.reason,
    )


def _provider(record: Record) -> list[str]:
    """What the mail provider's own lists say, and where it did not do what it was asked."""
    said = [
        f"Refuses the address on the stream “{word.stream}” ({word.reason})."
        for word in record.provider_says
        if word.refuses
    ]
    if record.provider_asked and (last := record.provider_asked[-1]).state == "refused":
        said.append(f"Was asked to {last.change} the address and would not: {last.said}")
    return said


def _line(line: Line, instead: Mapping[str, str]) -> LineInWords:
    act = instead.get(line.act, Act(line.act).label)
    how = instead.get(line.how, How(line.how).label)
    more = []
    if line.network:
        more.append(f"from the network {line.network}")
    if line.name:
        more.append(f"with the name {line.name}")
    if line.file:
        more.append(f"file {line.file}")
    if line.detail:
        more.append(line.detail)
    # An act may say its way by itself: “came with an import, by an import”.
    sentence = act.capitalize() if line.act == Act.IMPORTED else f"{act.capitalize()}, {how}"
    return LineInWords(line.at, sentence, more, line.wording)
