"""The one sentence with which the desk's page of a reader begins: do letters go there? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from subscribers.data_requests.personal_data import Record
from subscribers.data_requests.personal_data_sentences import GLYPHS, TONES
from subscribers.models.subscriber import Subscriber
from subscribers.models.suppression import Suppression, why_suppressed

State = Subscriber.State

_SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        State.PENDING: "Not confirmed yet. No letter goes there before they have pressed the "
        "button in the mail that asks them.",
        State.CONFIRMED: "Confirmed. Every letter goes there.",
        State.UNSUBSCRIBED: "Left the list. No letter goes there, and only they themselves can "
        "come back.",
        State.BOUNCED: "The address did not take mail. No letter goes there.",
        State.COMPLAINED: "Called a letter spam. No letter goes there.",
    }
)
SHUT_OUT = "The address was shut out at the desk: nothing is mailed to it."


@dataclass(frozen=True, slots=True)
class Standing:
    """How a reader stands: the sentence, and how it is drawn."""

    sentence: str
    glyph: str
    tone: str


def standing_of(record: Record) -> Standing:
    """
    How this reader stands. Being confirmed is not enough: whoever is shut out, or refused by the
    provider, gets nothing, and that is what the page must say first.
    """
    shut = record.shut_out if record.shut_out and not record.shut_out.lifted_at else None
    if shut and shut.origin == Suppression.Origin.OPERATOR:
        before = "" if record.state == State.CONFIRMED else f"{_SENTENCES[record.state]} "
        return Standing(f"{before}{SHUT_OUT}", "suppressed", "fault")
    if record.state == State.CONFIRMED:
        if shut:
            why = why_suppressed(shut.reason, shut.origin)
            return Standing(
                f"Confirmed, and yet no letter goes there: {why}.", "suppressed", "fault"
            )
        if refusing := next((word for word in record.provider_says if word.refuses), None):
            return Standing(
                "Confirmed, and yet the mail provider refuses the address on the stream "
                f"“{refusing.stream}”.",
                "suppressed",
                "fault",
            )
    return Standing(_SENTENCES[record.state], GLYPHS[record.state], TONES[record.state])
