"""Postmark's validation of messages, with its error texts.

Postmark does not document in which order it checks a message.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import orjson

from postmark_sandbox.http import PostmarkError
from postmark_sandbox.rules.addresses import (
    CONTROL,
    PLAIN,
    Mailbox,
    domain_of,
    read_list,
    read_mailbox,
)
from postmark_sandbox.rules.magic_addresses import MAGIC_DOMAINS, EventType, event_type_of
from postmark_sandbox.rules.streams import Streams

_TEXTS = "From To Cc Bcc Subject HtmlBody TextBody ReplyTo Tag TrackLinks MessageStream"
FIELDS: dict[str, type] = {
    **dict.fromkeys(_TEXTS.split(), str),
    "Metadata": dict,
    "Headers": list,
    "TrackOpens": bool,
    "Attachments": list,
}
TRACK_LINKS = frozenset({"none", "htmlandtext", "htmlonly", "textonly"})
MAX_MESSAGES = 500
MAX_RECIPIENTS = 50
MESSAGE_BYTES = 10 * 1024 * 1024
BATCH_BYTES = 50 * 1024 * 1024
BODY_BYTES = 5 * 1024 * 1024
FROM_CHARS, SUBJECT_CHARS, TAG_CHARS = 255, 2000, 1000
METADATA_PAIRS, METADATA_KEY_CHARS, METADATA_VALUE_CHARS = 10, 20, 80
_EXTENSIONS = (
    "vbs exe bin bat chm com cpl crt hlp hta inf ins isp jse lnk mdb pcd pif reg scr sct shs vbe "
    "vba wsf wsh wsl msc msi msp mst"
)
FORBIDDEN_EXTENSIONS = frozenset(_EXTENSIONS.split())
INACTIVE = (
    "Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a "
    "manual suppression."
)
PENDING = (
    "While your account is pending approval, all recipient addresses must share the same "
    "domain as the From address."
)
# The ErrorCode and sentence for each state of an account that is not active.
ACCOUNT_REFUSALS = {
    "no_credits": (405, "You ran out of credits and can't send any more email."),
    "pending": (412, PENDING),
    "not_approved": (413, "This account is not approved to send email."),
}
ACCOUNT_STATES = ("active", *ACCOUNT_REFUSALS)


@dataclass(slots=True)
class Account:
    """Rules of the server and account. If `verified` is None, any sender is allowed."""

    streams: Streams
    suppressed: Callable[[str], Mapping[str, object]]
    verified: Set[str] | None = None
    state: str = "active"


@dataclass(slots=True)
class CheckedMessage:
    """A message to accept: `recipients` as typed, `inactive` addresses in lower case."""

    item: dict[str, Any]
    stream: str
    sender: str
    to: str | None
    recipients: list[str]
    inactive: list[str]
    magic: bool


def check(item: Any, account: Account, *, batched: bool, weigh: bool = False) -> CheckedMessage:
    """Return the checked message, or raise PostmarkError.

    With `weigh`, the size of the message is checked too.
    """
    check_fields(item)
    if weigh:
        _check_sizes(item)
    stream = item.get("MessageStream") or "outbound"
    account.streams.to_send(stream)
    sender = _sender(item.get("From") or "")
    if item.get("ReplyTo"):
        read_list(item["ReplyTo"], "Reply-To")
    recipients, magic = _recipients(item)
    body = item.get("TextBody") or item.get("HtmlBody")
    _require(body, "Provide either email TextBody or HtmlBody or both.")
    _check_subject_and_tag(item.get("Subject") or "", item.get("Tag") or "")
    _check_metadata(item.get("Metadata") or {})
    for header in item.get("Headers") or []:
        _check_header(header)
    for attachment in item.get("Attachments") or []:
        _check_attachment(attachment)
    _check_account(sender, recipients, account)
    inactive = _inactive(recipients, account.suppressed(stream), magic)
    if inactive:
        recipients = [r for r in recipients if r.lower() not in inactive]
        if not recipients:
            raise PostmarkError(406, _inactive_text(inactive, batched=batched))
    return CheckedMessage(item, stream, sender.address, item.get("To"), recipients, inactive, magic)


def sender_text(address: str) -> str:
    """Return the sentence of ErrorCode 400."""
    return (
        f"The 'From' address you supplied ({address}) is not a Sender Signature on your account. "
        "Please add and confirm this address in order to be able to use it in the 'From' field of "
        "your messages."
    )


def metadata_text(value: Any) -> str:
    """Return a metadata value as Postmark returns it: always a string."""
    if type(value) is str:
        return value
    return "" if value is None else orjson.dumps(value).decode()


def check_fields(item: Any) -> None:
    """Raise ErrorCode 403 for unknown fields and for values of a wrong type."""
    if type(item) is not dict:
        raise PostmarkError(403, "Invalid request field(s): a message must be an object.")
    wrong = [
        name
        for name, value in item.items()
        if type(value) is not FIELDS.get(name) and (value is not None or name not in FIELDS)
    ]
    if not wrong:
        links = item.get("TrackLinks")
        if links and links.lower() not in TRACK_LINKS:
            wrong.append("TrackLinks")
        for key, value in (item.get("Metadata") or {}).items():
            # In metadata, Postmark turns numbers and booleans into strings, and refuses lists and
            # objects.
            if type(value) is dict or type(value) is list:
                wrong.append(f"Metadata.{key}")
    if wrong:
        names = ", ".join(f"'{name}'" for name in wrong)
        raise PostmarkError(403, f"Invalid request field(s): {names}.")


def _require(met: object, sentence: str) -> None:
    if not met:
        raise PostmarkError(300, sentence)


def _check_sizes(item: dict[str, Any]) -> None:
    _require(len(orjson.dumps(item)) <= MESSAGE_BYTES, "The message is larger than 10 MB.")
    for name in ("TextBody", "HtmlBody"):
        size = len((item.get(name) or "").encode())
        _require(size <= BODY_BYTES, f"The '{name}' is larger than 5 MB.")


@lru_cache(maxsize=1000)
def _sender(text: str) -> Mailbox:
    _require(text.strip() and len(text) <= FROM_CHARS, f"Invalid 'From' address: '{text}'.")
    return read_mailbox(text, "From")


def _recipients(item: dict[str, Any]) -> tuple[list[str], bool]:
    to = item.get("To") or ""
    if PLAIN.fullmatch(to) and not item.get("Cc") and not item.get("Bcc"):
        recipients = [to]
    else:
        lists = [read_list(item.get(name) or "", name) for name in ("To", "Cc", "Bcc")]
        recipients = [mailbox.address for mailbox in chain.from_iterable(lists)]
    _require(recipients, "Zero recipients specified")
    limit = f"The number of recipients is limited to {MAX_RECIPIENTS} (To, Cc and Bcc together)"
    enough = len(recipients) <= MAX_RECIPIENTS
    _require(enough, f"{limit}; this message has {len(recipients)}.")
    magic = [address for address in recipients if domain_of(address) in MAGIC_DOMAINS]
    for address in magic:
        valid = event_type_of(address)[0] is not EventType.INVALID
        _require(valid, f"Invalid 'To' address: '{address}'.")
    return recipients, bool(magic)


def _check_subject_and_tag(subject: str, tag: str) -> None:
    for name, text, most in (("Subject", subject, SUBJECT_CHARS), ("Tag", tag, TAG_CHARS)):
        _require(len(text) <= most, f"The '{name}' is limited to {most} characters.")
    controls = CONTROL.search(subject)
    _require(not controls, "The 'Subject' must not contain control characters.")


def _check_metadata(metadata: dict[str, Any]) -> None:
    invalid = "Invalid metadata content. Field"
    _require(len(metadata) <= METADATA_PAIRS, f"{invalid}s are limited to {METADATA_PAIRS} pairs.")
    distinct = len({key.lower() for key in metadata})
    _require(distinct == len(metadata), f"{invalid} names must differ by more than case.")
    names = f"{invalid} names are limited to {METADATA_KEY_CHARS} characters."
    values = f"{invalid} values are limited to {METADATA_VALUE_CHARS} characters."
    for key, value in metadata.items():
        _require(len(key) <= METADATA_KEY_CHARS, f"{names} '{key}' has {len(key)}.")
        fits = len(metadata_text(value)) <= METADATA_VALUE_CHARS
        _require(fits, f"{values} '{key}' has a longer one.")


def _has_texts(entry: Any, *names: str) -> bool:
    return type(entry) is dict and all(type(entry.get(name)) is str for name in names)


def _check_header(header: Any) -> None:
    if not _has_texts(header, "Name", "Value") or len(header) != 2 or not header["Name"]:
        raise PostmarkError(403, "Invalid request field(s): 'Headers'.")
    if CONTROL.search(header["Name"] + header["Value"]):
        name = CONTROL.sub(" ", header["Name"])
        raise PostmarkError(300, f"The header '{name}' must not contain control characters.")


def _check_attachment(attachment: Any) -> None:
    if not _has_texts(attachment, "Name", "Content", "ContentType"):
        raise PostmarkError(403, "Invalid request field(s): 'Attachments'.")
    extension = attachment["Name"].rpartition(".")[2].lower()
    if extension in FORBIDDEN_EXTENSIONS:
        raise PostmarkError(411, f"The attachment type '.{extension}' is not allowed.")


def _check_account(sender: Mailbox, recipients: list[str], account: Account) -> None:
    domain = domain_of(sender.address)
    verified = account.verified
    if verified is not None and verified.isdisjoint({sender.address.lower(), domain}):
        raise PostmarkError(400, sender_text(sender.address))
    if account.state != "active":
        inside = all(domain_of(recipient) == domain for recipient in recipients)
        if account.state != "pending" or not inside:
            raise PostmarkError(*ACCOUNT_REFUSALS[account.state])


def _inactive(recipients: list[str], suppressed: Mapping[str, object], magic: bool) -> list[str]:
    if not suppressed and not magic:
        return []
    return [
        address.lower()
        for address in recipients
        if address.lower() in suppressed
        or (magic and event_type_of(address)[0] is EventType.INACTIVE)
    ]


def _inactive_text(addresses: list[str], *, batched: bool) -> str:
    """Return the sentence of ErrorCode 406.

    Postmark's sentences for single and batched messages differ in grammar and in a space at the
    end.
    """
    who = "a recipient that has been" if batched else "recipient(s) that have been"
    end = " " if batched else ""
    return (
        f"You tried to send to {who} marked as inactive. "
        f"Found inactive addresses: {', '.join(addresses)}. {INACTIVE}{end}"
    )
