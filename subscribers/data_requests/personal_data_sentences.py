"""Personal data in the words of the pages that show it. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from delivery.humanise import counted
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
        "sections": list(_sections(data, _TO_THE_READER if to_reader else {})),
    }


def _sections(data: PersonalData, words: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The lists of a page: their rows, how many there are, and what else to say of them."""
    yield {
        "id": "consent",
        "title": "Consent",
        "count": counted(len(data.consent), "record"),
        "rows": [_consent(entry, words) for entry in data.consent],
        "notes": [] if data.consent else ["Nothing is recorded here."],
    }
    if data.bounces:
        rows = [
            {"at": one["at"], "sentence": one["type"], "details": [one["description"]]}
            for one in data.bounces
        ]
        yield {"id": "bounces", "title": "Bounces", "rows": rows}
    if events := data.provider_events:
        yield {
            "id": "events",
            "title": "Reported by the mail provider",
            "count": counted(len(events), "event"),
            "rows": [
                {"at": event["at"], "sentence": event["kind"] or "Something unreadable"}
                for event in list(reversed(events))[:MAILS_SHOWN]
            ],
        }
    notes = []
    if len(data.mails) > MAILS_SHOWN:
        notes.append(f"The latest {MAILS_SHOWN}. The download has them all.")
    if older := data.mails_not_known:
        notes.append(f"The recipients of {counted(older, 'older letter')} are not kept any more.")
    yield {
        "id": "mails",
        "title": "Mails",
        "count": counted(len(data.mails), "mail"),
        "rows": [_mail(mail) for mail in list(reversed(data.mails))[:MAILS_SHOWN]],
        "notes": notes or ([] if data.mails else ["None yet."]),
    }


def _source(data: PersonalData) -> str:
    if data.file:
        return f"by an import of the file {data.file}"
    return How.API.label if data.source == Subscriber.Source.API else "by a sign-up"


def _mail(mail: Entry) -> Entry:
    is_correction = mail["version"] > 1 and mail["kind"] == "newsletter"
    outcome = OUTCOMES.get(mail["outcome"], mail["outcome"])
    return {
        "at": mail["published_at"],
        "sentence": mail["title"],
        "version": mail["version"] if is_correction else None,
        "details": [f"{outcome}. {mail['reason']}" if mail["reason"] else outcome],
    }


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
