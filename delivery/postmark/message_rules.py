"""Postmark's rules for a message, to find a refusal without a call.

Only the fields that Homing sends are judged. The rules have the order and the sentences of
Postmark's API documentation, “Email API” and “API error codes”.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from delivery.postmark.classify_responses import INVALID_EMAIL, classify_message
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason

MESSAGE_BYTES = 10 * 1024 * 1024
BODY_BYTES = 5 * 1024 * 1024
FROM_CHARS, SUBJECT_CHARS, TAG_CHARS = 255, 2000, 1000
METADATA_KEY_CHARS, METADATA_VALUE_CHARS = 20, 80

_LOCAL_PART = r"[A-Za-z0-9!#$%&'`*+\-/=^_{}|~]+"
_ADDRESS = rf"{_LOCAL_PART}(?:\.{_LOCAL_PART})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*"
_IS_ADDRESS = re.compile(_ADDRESS)
# A name with punctuation must be a quoted string.
_NAME = r'(?:"(?:[^"\\]|\\.)*"\s*|[^()<>\[\]:;@\\,."]*)'
_IS_MAILBOX = re.compile(rf"{_ADDRESS}|{_NAME}<\s*{_ADDRESS}\s*>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def find_refusals(call: bytes) -> Iterator[tuple[dict[str, Any], Reason | None]]:
    """Yield each message of a call with the reason why Postmark would refuse it.

    `call` is a JSON array of messages.
    """
    for message in orjson.loads(call):
        # If the whole call is smaller than the limit of one part, no message can exceed that limit.
        sentence = _refusal(message, weigh=len(call) > BODY_BYTES)
        yield message, _as_reason(sentence, message["To"]) if sentence else None


def _as_reason(sentence: str, address: str) -> Reason | None:
    result = classify_message({"ErrorCode": INVALID_EMAIL, "Message": sentence}, address)
    return None if isinstance(result, Sent) else result.reason


def _refusal(message: Mapping[str, Any], *, weigh: bool) -> str:
    """Return the sentence of the first broken rule, or an empty text."""
    to, subject, tag = message["To"], message["Subject"], message["Tag"]
    if weigh and (too_large := _too_large(message)):
        return too_large
    if sentence := _invalid_sender(message["From"], message.get("ReplyTo", "")):
        return sentence
    if not _IS_ADDRESS.fullmatch(to):
        return f"Invalid 'To' address: '{to}'."
    if not message.get("TextBody") and not message.get("HtmlBody"):
        return "Provide either email TextBody or HtmlBody or both."
    if len(subject) > SUBJECT_CHARS:
        return f"The 'Subject' is limited to {SUBJECT_CHARS} characters."
    if len(tag) > TAG_CHARS:
        return f"The 'Tag' is limited to {TAG_CHARS} characters."
    if _CONTROL.search(subject):
        return "The 'Subject' must not contain control characters."
    for key, value in message["Metadata"].items():
        if len(key) > METADATA_KEY_CHARS or len(value) > METADATA_VALUE_CHARS:
            return f"Invalid metadata content. Field '{key}' or its value is too long."
    for header in message["Headers"]:
        if _CONTROL.search(header["Value"]):
            return f"The header '{header['Name']}' must not contain control characters."
    return ""


def _too_large(message: Mapping[str, Any]) -> str:
    if len(orjson.dumps(message)) > MESSAGE_BYTES:
        return "The message is larger than 10 MB."
    for name in ("TextBody", "HtmlBody"):
        if len(message.get(name, "").encode()) > BODY_BYTES:
            return f"The '{name}' is larger than 5 MB."
    return ""


@lru_cache(maxsize=100)
def _invalid_sender(sender: str, reply_to: str) -> str:
    if len(sender) > FROM_CHARS or not _is_mailbox(sender):
        return f"Invalid 'From' address: '{sender}'."
    return (
        ""
        if not reply_to or _is_mailbox(reply_to)
        else f"Invalid 'Reply-To' address: '{reply_to}'."
    )


def _is_mailbox(text: str) -> bool:
    return not _CONTROL.search(text) and bool(_IS_MAILBOX.fullmatch(text.strip()))
