"""The sentence at the head of a reader's page on the desk: do letters go there? Pure."""

from collections.abc import Mapping

from subscribers.data_requests.personal_data import PersonalData
from subscribers.data_requests.personal_data_sentences import STATES, StateLabel
from subscribers.models.subscriber import Subscriber
from subscribers.models.suppression import Suppression, why_suppressed

State = Subscriber.State

_SENTENCES: Mapping[str, str] = {
    State.PENDING: "Not confirmed yet. No letter goes there before they have pressed the "
    "button in the mail that asks them.",
    State.CONFIRMED: "Confirmed. Every letter goes there.",
    State.UNSUBSCRIBED: "Unsubscribed. No letter goes there; only the reader can come back.",
    State.BOUNCED: "Mail to this address bounced. No letter goes there.",
    State.COMPLAINED: "Called a letter spam. No letter goes there.",
}
BLOCKED = "The address is blocked at the desk: nothing is mailed to it."


def reader_headline(data: PersonalData) -> StateLabel:
    """A confirmed reader who is suppressed here or by the provider gets nothing: say that first."""
    suppression = data.suppression
    if suppression and suppression["lifted_at"]:
        suppression = None
    if suppression and suppression["origin"] == Suppression.Origin.OPERATOR:
        before = "" if data.state == State.CONFIRMED else f"{_SENTENCES[data.state]} "
        return _refused(f"{before}{BLOCKED}")
    if data.state == State.CONFIRMED:
        if suppression:
            why = why_suppressed(suppression["reason"], suppression["origin"])
            return _refused(f"Confirmed, and yet no letter goes there: {why}.")
        if refused := [one["stream"] for one in data.provider_suppressions if one["refuses"]]:
            sentence = "Confirmed, and yet the mail provider refuses the address on the stream"
            return _refused(f"{sentence} “{refused[0]}”.")
    return STATES[data.state]._replace(words=_SENTENCES[data.state])


def _refused(sentence: str) -> StateLabel:
    return StateLabel(sentence, "suppressed", "fault")
