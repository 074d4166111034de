"""Personal data in words, for the pages that show it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import counted, digits
from delivery.interface import ReasonCode
from delivery.reader_fields import READER_FIELDS
from subscribers.consent import consent_log
from subscribers.data_requests.personal_data import Entry, PersonalData, time_of_mail
from subscribers.models.consent_record import Act, How
from subscribers.models.subscriber import Subscriber
from subscribers.refusal_sentences import InputRefusal, sentence_of
from subscribers.suppression_sentences import provider_code, why_suppressed, words_of_code


class StateLabel(NamedTuple):
    """A reader's state in words, with its symbol and CSS class on the desk."""

    words: Promise | str
    glyph: str
    tone: str
    short: Promise | str = ""


STATES: Mapping[str, StateLabel] = {
    Subscriber.State.PENDING: StateLabel(
        gettext_lazy("Not confirmed yet"), "held", "", gettext_lazy("Pending")
    ),
    Subscriber.State.CONFIRMED: StateLabel(
        gettext_lazy("Confirmed"), "sent", "sent", gettext_lazy("Confirmed")
    ),
    Subscriber.State.UNSUBSCRIBED: StateLabel(
        gettext_lazy("Unsubscribed"), "withdrawn", "calm", gettext_lazy("Unsubscribed")
    ),
    Subscriber.State.BOUNCED: StateLabel(
        gettext_lazy("Mail to this address bounced"), "failed", "fault", gettext_lazy("Bounced")
    ),
    Subscriber.State.COMPLAINED: StateLabel(
        gettext_lazy("Marked a letter as spam"), "suppressed", "fault", gettext_lazy("Complained")
    ),
}
OUTCOMES: Mapping[str, Promise] = {
    "waiting": gettext_lazy("Queued."),
    "sent": gettext_lazy("Sent: the mail provider accepted it."),
    "unknown": gettext_lazy("Unconfirmed: we are asking the mail provider whether it was sent."),
    "suppressed": gettext_lazy("Not sent: the address is suppressed."),
    "withdrawn": gettext_lazy("Not sent: it was withdrawn before sending."),
    "failed": gettext_lazy("Not sent: it failed."),
}
# A newer release may have recorded other codes. An unknown code is shown unchanged.
ACTS: Mapping[str, Promise] = {
    Act.ASKED: gettext_lazy("Signed up"),
    Act.CONFIRMED: gettext_lazy("Confirmed by the reader"),
    Act.IMPORTED: gettext_lazy("Imported"),
    Act.LEFT: gettext_lazy("Unsubscribed"),
    Act.BOUNCED: gettext_lazy("Mail to the address bounced"),
    Act.COMPLAINED: gettext_lazy("Marked a letter as spam"),
    Act.BLOCKED: gettext_lazy("Blocked"),
    Act.RECORD_ASKED: gettext_lazy("Requested the data"),
    Act.STATED: gettext_lazy("Added as confirmed"),
    Act.CHOSE_TOPICS: gettext_lazy("Topics chosen by the reader"),
    Act.LEFT_TOPICS: gettext_lazy("Topics left by the reader"),
    Act.LIFTED: gettext_lazy("The suppression was lifted"),
}
WAYS: Mapping[str, Promise] = {
    How.FORM: gettext_lazy("on our page"),
    How.EMBEDDED_FORM: gettext_lazy("by a form on another site"),
    How.ARCHIVE: gettext_lazy("by the form below a letter"),
    How.LINK: gettext_lazy("by the link in an email"),
    How.ONE_CLICK: gettext_lazy("by the unsubscribe button of the mail program"),
    How.IMPORT: gettext_lazy("by an import"),
    How.PROVIDER: gettext_lazy("reported by the mail provider"),
    How.OPERATOR: gettext_lazy("by an author"),
    How.API: gettext_lazy("by a program"),
}
MAILS_SHOWN = 50  # the page shows only this number of the latest; the download has all
# On a reader's own page, these words replace the words above for the same codes.
_TO_THE_READER: Mapping[str, Promise] = {
    Act.CONFIRMED: gettext_lazy("Confirmed by you"),
    Act.RECORD_ASKED: gettext_lazy("Requested your data"),
    Act.CHOSE_TOPICS: gettext_lazy("Topics you chose"),
    Act.LEFT_TOPICS: gettext_lazy("Topics you left"),
    How.ONE_CLICK: gettext_lazy("by the unsubscribe button of your mail program"),
}
# Readers see only these reasons. Authors and operators see all reasons.
_REASONS_TO_THE_READER: Mapping[str, Promise] = {
    ReasonCode.LEFT: gettext_lazy("You were no longer subscribed."),
    ReasonCode.LEFT_TOPIC: gettext_lazy("You had left its topics."),
    ReasonCode.EDITION_CANCELLED: gettext_lazy("The letter was cancelled."),
    ReasonCode.EDITION_CALLED_BACK: gettext_lazy("The letter was cancelled."),
}


def describe(data: PersonalData, *, to_reader: bool = False) -> dict[str, Any]:
    """Describe personal data for a page; `to_reader` is true on the reader's own page."""
    suppression = ""
    if (held := data.suppression) and not held["lifted_at"]:
        why = why_suppressed(held["reason"], held["origin"])
        suppression = _("This address gets no mail: {reason}.").format(reason=why)
    fields = [(field.label, data.values.get(field.name, "")) for field in READER_FIELDS]
    fields += [(data.field_labels.get(key, key), value) for key, value in data.fields.items()]
    words = _TO_THE_READER if to_reader else {}
    groups = (
        (_("Topics"), data.topics),
        (str({**ACTS, **words}[Act.LEFT_TOPICS]), data.left_topics),
        (_("Tags"), data.tags),
    )
    return {
        "fields": [(_("Address"), data.address), *fields],
        "groups": [(label, ", ".join(names)) for label, names in groups if names],
        "state": STATES[data.state].words,
        "source": _source(data),
        "suppression": suppression,
        "provider": _provider(data),
        "sections": list(_sections(data, words, to_reader=to_reader)),
    }


def _sections(
    data: PersonalData, words: Mapping[str, Promise], *, to_reader: bool
) -> Iterator[dict[str, Any]]:
    """Describe each section of a page: its rows, the number of its entries, and notes."""
    records, mails = len(data.consent), len(data.mails)
    yield {
        "id": "consent",
        "title": _("Consent"),
        "count": counted("{n} record", "{n} records", records),
        "rows": [_consent(entry, data.field_labels, words) for entry in data.consent],
        "notes": [] if data.consent else [_("There are no records.")],
    }
    if data.bounces:
        rows = [
            {"at": one["at"], "sentence": one["type"], "details": [one["description"]]}
            for one in data.bounces
        ]
        yield {"id": "bounces", "title": _("Bounces"), "rows": rows}
    if events := data.provider_events:
        yield {
            "id": "events",
            "title": _("Reported by the mail provider"),
            "count": counted("{n} event", "{n} events", len(events)),
            "rows": [
                {"at": event["at"], "sentence": event["kind"] or _("Unreadable event")}
                for event in list(reversed(events))[:MAILS_SHOWN]
            ],
        }
    if data.rejected_rows:
        yield {
            "id": "rows",
            "title": _("Rows of files that were not imported"),
            "rows": [_rejected_row(row, to_reader) for row in data.rejected_rows],
        }
    notes = []
    if mails > MAILS_SHOWN:
        notes.append(
            _("Shown: the latest {n}. The download has all.").format(n=digits(MAILS_SHOWN))
        )
    if older := data.mails_not_known:
        notes.append(
            counted(
                "The recipients of {n} older letter are no longer stored.",
                "The recipients of {n} older letters are no longer stored.",
                older,
            )
        )
    yield {
        "id": "mails",
        "title": _("Emails"),
        "count": counted("{n} email", "{n} emails", mails),
        "rows": [_mail(mail, to_reader) for mail in list(reversed(data.mails))[:MAILS_SHOWN]],
        "notes": notes or ([] if data.mails else [_("None yet.")]),
    }


def _source(data: PersonalData) -> str:
    if data.file:
        return _("Imported from the file {file}").format(file=data.file)
    if data.source == Subscriber.Source.API:
        return _("Added by a program")
    if data.source == Subscriber.Source.DESK:
        return _("Added by an author")
    return _("Signed up")


def _mail(mail: Entry, to_reader: bool) -> Entry:
    is_correction = mail["version"] > 1 and mail["kind"] == "newsletter"
    outcome = OUTCOMES.get(mail["outcome"], mail["outcome"])
    code, sentence = mail["reason_code"], mail["reason"]
    reason = _REASONS_TO_THE_READER.get(code, "") if to_reader else sentence
    return {
        "at": time_of_mail(mail),
        "sentence": mail["title"],
        "version": mail["version"] if is_correction else None,
        "details": [f"{outcome} {reason}".strip()],
    }


def _rejected_row(row: Entry, to_reader: bool) -> Entry:
    reason = "" if to_reader else sentence_of(InputRefusal(row["reason"], row["parameters"]))
    cells = ", ".join(filter(None, map(str.strip, row["row"])))
    return {"at": row["at"], "sentence": row["file"], "details": [cells, reason]}


def _provider(data: PersonalData) -> list[str]:
    """Describe the streams that refuse the address, and the last refused request."""
    sentences = [
        _("It does not deliver to this address (stream “{stream}”): {reason}.").format(
            stream=entry["stream"],
            reason=words_of_code(provider_code(entry["reason"], entry.get("origin", ""))),
        )
        for entry in data.provider_suppressions
        if entry["refuses"]
    ]
    if data.provider_requests and (last := data.provider_requests[-1])["state"] == "refused":
        sentence = (
            _("It did not add the address to its suppression list: {reason}")
            if last["change"] == "suppress"
            else _("It did not remove the address from its suppression list: {reason}")
        )
        sentences.append(sentence.format(reason=last["said"]))
    return sentences


def _consent(entry: Entry, labels: Mapping[str, str], instead: Mapping[str, Promise]) -> Entry:
    words = {**ACTS, **WAYS, **instead}
    act, how = (str(words.get(str(code), code)) for code in (entry["act"], entry["how"]))
    # Next to the act “Imported”, the words “By an import” would say nothing new.
    details = [] if entry["act"] == Act.IMPORTED else [how]
    if entry["network"]:
        details.append(_("From the network {network}").format(network=entry["network"]))
    details += [
        f"{field.label}: {value}" for field in READER_FIELDS if (value := entry[field.name])
    ]
    details += [f"{labels.get(key, key)}: {value}" for key, value in entry["fields"].items()]
    if entry["tags"]:
        details.append(_("Tags of the form: {names}").format(names=", ".join(entry["tags"])))
    if entry["file"]:
        details.append(_("File: {name}").format(name=entry["file"]))
    if entry["detail"]:
        details.append(consent_log.sentence_of(entry["detail"]))
    return {**entry, "sentence": capfirst(act), "details": details}
