"""The only place that decides whether Postmark would take a message, and what it says if not.

Pure: a message and the rules in force go in, a letter or a refusal comes out. The order of the
checks is chosen here, as Postmark's own is not documented: names and types of the fields, sizes,
stream, From, recipients, bodies, tag and subject and metadata, headers, attachments, then what
depends on the account: verified senders, its state, the suppression list of the stream.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import orjson

from postmark_sandbox.events.magic_addresses import MAGIC_DOMAINS, Fate, fate_of
from postmark_sandbox.http.response import Refused
from postmark_sandbox.postmark_api.addresses import (
    CONTROL,
    PLAIN,
    Mailbox,
    domain_of,
    read_list,
    read_mailbox,
)
from postmark_sandbox.state.streams import Streams

FIELDS: dict[str, type] = {
    "From": str,
    "To": str,
    "Cc": str,
    "Bcc": str,
    "Subject": str,
    "HtmlBody": str,
    "TextBody": str,
    "ReplyTo": str,
    "Tag": str,
    "Metadata": dict,
    "Headers": list,
    "TrackOpens": bool,
    "TrackLinks": str,
    "Attachments": list,
    "MessageStream": str,
}
TRACK_LINKS = frozenset({"none", "htmlandtext", "htmlonly", "textonly"})
MOST_MESSAGES = 500
MOST_RECIPIENTS = 50
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
ACCOUNT_STATES = ("active", "no_credits", "pending", "not_approved")
NO_BODY = "Provide either email TextBody or HtmlBody or both."
INACTIVE = (
    "Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a "
    "manual suppression."
)


@dataclass(slots=True)
class Rules:
    """What the server and its account allow just now. `verified` are domains and addresses that
    may stand in From; None means every one."""

    streams: Streams
    suppressed: Mapping[str, Mapping[str, object]]
    verified: Set[str] | None = None
    account: str = "active"
    senders: dict[str, Mailbox] = field(default_factory=dict)


@dataclass(slots=True)
class Letter:
    """A message that is accepted, with what has to be known about it at once. `recipients` are
    those it goes to, as typed; `inactive` those left out, in lower case."""

    item: dict[str, Any]
    stream: str
    sender: str
    to: str | None
    recipients: list[str]
    inactive: list[str]
    magic: bool


def check(item: Any, rules: Rules, *, batched: bool, weigh: bool = False) -> Letter:
    """The letter, or Refused. `weigh`: the request is so large that one message of it may exceed
    what a single message may weigh."""
    check_fields(item)
    if weigh:
        _check_sizes(item)
    stream = item.get("MessageStream") or "outbound"
    rules.streams.to_send(stream)
    sender = _sender(item.get("From") or "", rules)
    if item.get("ReplyTo"):
        read_list(item["ReplyTo"], "Reply-To")
    recipients, magic = _recipients(item)
    if not (item.get("TextBody") or item.get("HtmlBody")):
        raise Refused(300, NO_BODY)
    _check_texts(item)
    if item.get("Headers"):
        _check_headers(item["Headers"])
    if item.get("Attachments"):
        _check_attachments(item["Attachments"])
    _check_account(sender, recipients, rules)
    inactive = _inactive(recipients, rules.suppressed.get(stream) or {}, magic)
    if inactive:
        recipients = [r for r in recipients if r.lower() not in inactive]
        if not recipients:
            raise Refused(406, inactive_text(inactive, batched=batched))
    return Letter(item, stream, sender.address, item.get("To"), recipients, inactive, magic)


def inactive_text(addresses: list[str], *, batched: bool) -> str:
    """The sentence of 406. Its two forms differ in grammar and in a last space."""
    who = "a recipient that has been" if batched else "recipient(s) that have been"
    end = " " if batched else ""
    return (
        f"You tried to send to {who} marked as inactive. "
        f"Found inactive addresses: {', '.join(addresses)}. {INACTIVE}{end}"
    )


def from_text(address: str) -> str:
    """The sentence of 400."""
    return (
        f"The 'From' address you supplied ({address}) is not a Sender Signature on your account. "
        "Please add and confirm this address in order to be able to use it in the 'From' field of "
        "your messages."
    )


ACCOUNT_TEXTS = {
    "no_credits": (405, "You ran out of credits and can't send any more email."),
    "pending": (
        412,
        (
            "While your account is pending approval, all recipient addresses must share the same "
            "domain as the From address."
        ),
    ),
    "not_approved": (413, "This account is not approved to send email."),
}


def check_fields(item: Any) -> None:
    """403 for what is no message, for fields that Postmark does not know, or of another type."""
    if type(item) is not dict:
        raise Refused(403, "Invalid request field(s): a message must be an object.")
    wrong = []
    for name, value in item.items():
        if type(value) is not FIELDS.get(name) and (value is not None or name not in FIELDS):
            wrong.append(name)
    if not wrong:
        links = item.get("TrackLinks")
        if links and links.lower() not in TRACK_LINKS:
            wrong.append("TrackLinks")
        for key, value in (item.get("Metadata") or {}).items():
            # Numbers and truth values come back as strings; a list or an object never went in.
            if type(value) is dict or type(value) is list:
                wrong.append(f"Metadata.{key}")
    if wrong:
        names = ", ".join(f"'{name}'" for name in wrong)
        raise Refused(403, f"Invalid request field(s): {names}.")


def _check_sizes(item: dict[str, Any]) -> None:
    if len(orjson.dumps(item)) > MESSAGE_BYTES:
        raise Refused(300, "The message is larger than 10 MB.")
    for name in ("TextBody", "HtmlBody"):
        if len((item.get(name) or "").encode()) > BODY_BYTES:
            raise Refused(300, f"The '{name}' is larger than 5 MB.")


def _sender(text: str, rules: Rules) -> Mailbox:
    held = rules.senders.get(text)
    if held is not None:
        return held
    if not text.strip() or len(text) > FROM_CHARS:
        raise Refused(300, f"Invalid 'From' address: '{text}'.")
    found = read_mailbox(text, "From")
    if len(rules.senders) < 1000:
        rules.senders[text] = found
    return found


def _recipients(item: dict[str, Any]) -> tuple[list[str], bool]:
    to = item.get("To") or ""
    if PLAIN.fullmatch(to) and not item.get("Cc") and not item.get("Bcc"):
        recipients = [to]
    else:
        recipients = [
            mailbox.address
            for name in ("To", "Cc", "Bcc")
            for mailbox in read_list(item.get(name) or "", name)
        ]
    if not recipients:
        raise Refused(300, "Zero recipients specified")
    if len(recipients) > MOST_RECIPIENTS:
        raise Refused(
            300,
            f"The number of recipients is limited to {MOST_RECIPIENTS} "
            f"(To, Cc and Bcc together); this message has {len(recipients)}.",
        )
    magic = False
    for address in recipients:
        if domain_of(address) in MAGIC_DOMAINS:
            magic = True
            if fate_of(address)[0] is Fate.INVALID:
                raise Refused(300, f"Invalid 'To' address: '{address}'.")
    return recipients, magic


def _check_texts(item: dict[str, Any]) -> None:
    subject, tag, metadata = item.get("Subject"), item.get("Tag"), item.get("Metadata")
    if subject:
        if len(subject) > SUBJECT_CHARS:
            raise Refused(300, f"The 'Subject' is limited to {SUBJECT_CHARS} characters.")
        if CONTROL.search(subject):
            raise Refused(300, "The 'Subject' must not contain control characters.")
    if tag and len(tag) > TAG_CHARS:
        raise Refused(300, f"The 'Tag' is limited to {TAG_CHARS} characters.")
    if metadata:
        _check_metadata(metadata)


def _check_metadata(metadata: dict[str, Any]) -> None:
    if len(metadata) > METADATA_PAIRS:
        raise Refused(
            300, f"Invalid metadata content. Fields are limited to {METADATA_PAIRS} pairs."
        )
    if len({key.lower() for key in metadata}) < len(metadata):
        raise Refused(300, "Invalid metadata content. Field names must differ by more than case.")
    for key, value in metadata.items():
        if len(key) > METADATA_KEY_CHARS:
            raise Refused(
                300,
                "Invalid metadata content. Field names are limited to "
                f"{METADATA_KEY_CHARS} characters. '{key}' has {len(key)}.",
            )
        if len(metadata_text(value)) > METADATA_VALUE_CHARS:
            raise Refused(
                300,
                "Invalid metadata content. Field values are limited to "
                f"{METADATA_VALUE_CHARS} characters. '{key}' has a longer one.",
            )


def metadata_text(value: Any) -> str:
    """A metadata value as Postmark gives it back: always a string."""
    if type(value) is str:
        return value
    return "" if value is None else orjson.dumps(value).decode()


def _check_headers(headers: list[Any]) -> None:
    for header in headers:
        if (
            type(header) is not dict
            or len(header) != 2
            or type(header.get("Name")) is not str
            or type(header.get("Value")) is not str
            or not header["Name"]
        ):
            raise Refused(403, "Invalid request field(s): 'Headers'.")
        if CONTROL.search(header["Name"]) or CONTROL.search(header["Value"]):
            name = CONTROL.sub(" ", header["Name"])
            raise Refused(300, f"The header '{name}' must not contain control characters.")


def _check_attachments(attachments: list[Any]) -> None:
    for attachment in attachments:
        if type(attachment) is not dict or not all(
            type(attachment.get(name)) is str for name in ("Name", "Content", "ContentType")
        ):
            raise Refused(403, "Invalid request field(s): 'Attachments'.")
        extension = attachment["Name"].rpartition(".")[2].lower()
        if extension in FORBIDDEN_EXTENSIONS:
            raise Refused(411, f"The attachment type '.{extension}' is not allowed.")


def _check_account(sender: Mailbox, recipients: list[str], rules: Rules) -> None:
    verified = rules.verified
    if verified is not None:
        address = sender.address.lower()
        if address not in verified and domain_of(address) not in verified:
            raise Refused(400, from_text(sender.address))
    if rules.account != "active":
        inside = all(domain_of(r) == domain_of(sender.address) for r in recipients)
        if rules.account != "pending" or not inside:
            raise Refused(*ACCOUNT_TEXTS[rules.account])


def _inactive(recipients: list[str], suppressed: Mapping[str, object], magic: bool) -> list[str]:
    if not suppressed and not magic:
        return []
    return [
        address.lower()
        for address in recipients
        if address.lower() in suppressed or (magic and fate_of(address)[0] is Fate.INACTIVE)
    ]
