"""Imports in words, for the page, the command and the API. Pure."""

from collections.abc import Mapping
from typing import Any

from delivery.humanise import enumerated
from delivery.reader_fields import NAME, READER_FIELDS
from subscribers.importing.file_format.read_file import Description
from subscribers.importing.file_format.status import Status
from subscribers.models import RejectedRow, SubscriberImport
from subscribers.refusal import InputRefusal, sentence_of

ENCODING_WARNINGS = {
    "windows_1252": "It is not UTF-8, so its letters are taken for Windows-1252, as Western Europe "
    "writes. If a name looks wrong here, save the list as “CSV UTF-8” and take that.",
    "other_encoding": "It is not UTF-8, and it holds bytes that stand for nothing in "
    "Windows-1252, so it is probably in another encoding. Save the list as “CSV UTF-8” and take "
    "that.",
}
HIDDEN = {
    "substack": "A Substack file leaves out most readers who unsubscribed.",
    "substack_dashboard": "It has no column for consent: import the email list instead.",
    "ghost": "A Ghost file does not show bounces and complaints.",
    "listmonk": "“enabled” in listmonk is no subscription: the file does not show who left a list.",
    "mailchimp_renamed": "A Mailchimp file says its status by its name, and this one was renamed.",
}
STATUSES = {
    Status.SUBSCRIBED: "subscribed",
    Status.UNCONFIRMED: "not confirmed, added as pending in any case",
    Status.UNSUBSCRIBED: "unsubscribed",
    Status.BOUNCED: "bounced",
    Status.COMPLAINED: "complained",
    Status.BLOCKED: "blocked",
}
NONE_SUBSCRIBED = "because the file says of none of them that they are subscribed"


def describe_file(record: SubscriberImport) -> dict[str, Any] | None:
    """How the file of an import was read, in words; None if it was not."""
    if (read_as := Description.from_json(record.read_as)) is None:
        return None
    return {
        "format": format_sentence(read_as),
        "columns": columns_sentence(read_as),
        "unused": unused_sentence(read_as),
        "examples": read_as.examples,
        "encoding_warning": ENCODING_WARNINGS.get(read_as.encoding_warning, ""),
        "hidden": HIDDEN.get(read_as.hidden, ""),
    }


def format_sentence(read_as: Description) -> str:
    """Such as: Ghost members: UTF-8, commas, with a header, CRLF."""
    header = "with a header" if read_as.has_header else "without a header"
    parts = (read_as.encoding, read_as.delimiter, header, read_as.line_ends)
    words = ", ".join(filter(None, parts))
    return f"{read_as.product}: {words}" if read_as.product else words


def columns_sentence(read_as: Description) -> str:
    """Such as: “E-Mail” is the address, “Nome” the name, “status” the status."""
    sentence = f"{read_as.address_column} is the address"
    for field in READER_FIELDS:
        if columns := read_as.field_columns.get(field.name):
            sentence += f", {' and '.join(columns)} the {field.label.lower()}"
        elif field is NAME:
            sentence += "; there are no names"
    if read_as.status_columns:
        sentence += f", {enumerated(list(read_as.status_columns))} the status"
    return sentence[0].upper() + sentence[1:]


def unused_sentence(read_as: Description) -> str:
    """Such as: “Stand” is not used. Empty if all columns are."""
    if not (unused := list(read_as.unused_columns)):
        return ""
    sentence = f"{enumerated(unused)} {'is' if len(unused) == 1 else 'are'} not used"
    return sentence[0].upper() + sentence[1:]


def statuses_sentence(statuses: Mapping[str, int]) -> str:
    """Such as: 1,204 subscribed; 37 unsubscribed: recorded as suppressed and never mailed."""
    words = {
        status: f"{statuses[status]:,} {meaning}"
        for status, meaning in STATUSES.items()
        if status in statuses
    }
    parts = [text for status, text in words.items() if not status.is_gone]
    if gone := [text for status, text in words.items() if status.is_gone]:
        parts.append(f"{enumerated(gone)}: recorded as suppressed and never mailed")
    return "; ".join(parts)


def reason_sentence(row: RejectedRow) -> str:
    """Why a row was rejected or skipped."""
    return sentence_of(InputRefusal(row.reason, row.parameters))


def refusal_sentence(record: SubscriberImport) -> str:
    """Why an import was refused; empty if it was not."""
    if record.refusal is None:
        return ""
    return sentence_of(InputRefusal(record.refusal["code"], record.refusal.get("parameters", {})))


def skipped_sentences(skipped_because: Mapping[str, int]) -> dict[str, int]:
    """How many rows were skipped, by the sentence of the reason."""
    return {
        sentence_of(InputRefusal(code)): count for code, count in sorted(skipped_because.items())
    }


def consent_detail(record: SubscriberImport) -> str:
    """The detail of each consent record of this import; empty if readers are asked to confirm."""
    if not record.confirmed:
        return ""
    sentence = f"Consent was given elsewhere, says {importer_name(record)}"
    return f"{sentence}: {record.statement}" if record.statement else f"{sentence}."


def importer_name(record: SubscriberImport) -> str:
    """Who imported it."""
    if record.imported_by is None:
        return "an operator at the command line"
    return record.imported_by.get_full_name() or record.imported_by.get_username()


def added_sentence(record: SubscriberImport, *, confirmed: str, none: str, pending: str) -> str:
    """How many are added as confirmed, and how many as pending because of their status."""
    if not record.pending:
        return confirmed
    return f"{record.ready:,} {confirmed if record.ready else none}; {record.pending:,} {pending}"
