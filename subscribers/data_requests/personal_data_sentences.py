"""Personal data in the words of the pages that show it. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from delivery.reader_fields import READER_FIELDS
from subscribers.data_requests.personal_data import Entry, PersonalData
from subscribers.models.consent_record import Act, How
from subscribers.models.subscriber import Subscriber
from subscribers.models.suppression import why_suppressed


class StateLabel(NamedTuple):
    """A state in words, with the symbol and the CSS class by which the desk draws it."""

    words: str
    glyph: str
    tone: str


STATES: Mapping[str, StateLabel] = {
    Subscriber.State.PENDING: StateLabel("Not confirmed yet", "held", ""),
    Subscriber.State.CONFIRMED: StateLabel("Confirmed", "sent", "sent"),
    Subscriber.State.UNSUBSCRIBED: StateLabel("Unsubscribed", "withdrawn", "calm"),
    Subscriber.State.BOUNCED: StateLabel("Mail to this address bounced", "failed", "fault"),
    Subscriber.State.COMPLAINED: StateLabel("Called a letter spam", "suppressed", "fault"),
}
OUTCOMES: Mapping[str, str] = {
    "waiting": "queued",
    "sent": "sent; the mail provider accepted it",
    "unknown": "sent without an answer; the provider is being asked",
    "suppressed": "not sent; the address may not be mailed",
    "withdrawn": "not sent; withdrawn before sending",
    "failed": "not sent; it failed",
}
# Codes that only a newer release knows are shown as they are.
ACTS: dict[str, str] = {act.value: str(act.label) for act in Act}
WAYS: dict[str, str] = {how.value: str(how.label) for how in How}
MAILS_SHOWN = 50  # the latest; the file has them all


# On a reader's own page.
_TO_THE_READER: Mapping[str, str] = {
    Act.CONFIRMED: "confirmed by you",
    Act.RECORD_ASKED: "asked what is held about you",
    How.ONE_CLICK: "by the button of your mail program",
}


def describe(data: PersonalData, *, to_reader: bool = False) -> dict[str, Any]:
    """What a page shows of personal data, the latest mail first; `to_reader`: to its owner."""
    suppression = ""
    if (held := data.suppression) and not held["lifted_at"]:
        why = why_suppressed(held["reason"], held["origin"])
        suppression = f"The address may not be mailed: {why}."
    fields = [(field.label, data.values.get(field.name, "")) for field in READER_FIELDS]
    return {
        "fields": [("Address", data.address), *fields],
        "state": STATES[data.state].words,
        "source": _source(data),
        "suppression": suppression,
        "provider": _provider(data),
        "consent": [_consent(entry, _TO_THE_READER if to_reader else {}) for entry in data.consent],
        "mails": [_mail(mail) for mail in list(reversed(data.mails))[:MAILS_SHOWN]],
        "events": list(reversed(data.provider_events))[:MAILS_SHOWN],
    }


def _source(data: PersonalData) -> str:
    if data.file:
        return f"by an import of the file {data.file}"
    return How.API.label if data.source == Subscriber.Source.API else "by a sign-up"


def _mail(mail: Entry) -> Entry:
    is_letter = mail["kind"] == "newsletter"
    outcome = OUTCOMES.get(mail["outcome"], mail["outcome"])
    return {**mail, "is_letter": is_letter, "outcome": outcome}


def _provider(data: PersonalData) -> list[str]:
    """What the provider's own lists say, and where it refused what it was asked for."""
    sentences = [
        f"Refuses the address on the stream “{entry['stream']}” ({entry['reason']})."
        for entry in data.provider_suppressions
        if entry["refuses"]
    ]
    if data.provider_requests and (last := data.provider_requests[-1])["state"] == "refused":
        sentences.append(f"Was asked to {last['change']} the address and would not: {last['said']}")
    return sentences


def _consent(entry: Entry, instead: Mapping[str, str]) -> Entry:
    words = {**ACTS, **WAYS, **instead}
    act, how = (words.get(str(code), str(code)) for code in (entry["act"], entry["how"]))
    details = [f"from the network {entry['network']}"] if entry["network"] else []
    details += [
        f"with the {field.label.lower()} {value}"
        for field in READER_FIELDS
        if (value := entry[field.name])
    ]
    details += [f"file {entry['file']}"] if entry["file"] else []
    details += [entry["detail"]] if entry["detail"] else []
    # “Came with an import, by an import” says it twice.
    sentence = act.capitalize() if entry["act"] == Act.IMPORTED else f"{act.capitalize()}, {how}"
    return {**entry, "sentence": sentence, "details": details}
