"""
What Postmark's answer means. Pure: status, headers and body in, a word of `call_results.py` out.

Postmark's own error code is looked at before the HTTP status, because it says more; the numbers
of the two only look alike. Source: Postmark's API documentation, “API error codes” and “Email
API”, and the texts its servers are known to answer with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.rules.call_results import (
    Accepted,
    Answered,
    Blocked,
    CallFault,
    CallResult,
    CallUnanswered,
    Fault,
    Found,
    Inactive,
    Listed,
    MessageResult,
    NoInformation,
    NotNow,
    Page,
    PutOff,
    Refused,
    TooLarge,
    Unanswered,
)

MAINTENANCE = 100
INTERNAL_ERROR = 101
INVALID_EMAIL = 300
INACTIVE = 406
TOO_MANY_MESSAGES = 410
RATE_LIMIT = 429

# An answer of ours is bounded in the tables and on pages; the provider's texts are not.
MAX_TEXT_LENGTH = 300
MAX_MESSAGE_ID_LENGTH = 100

# What a text field of the database cannot hold, or a log line should not.

# A reader's address stands on their copy alone, where it is found when they are erased.
_ADDRESS = re.compile(r"[^\s'\"<>]*@[^\s'\"<>]*")
_ABOUT_THE_RECIPIENT = re.compile(r"^(Invalid|Error parsing)\s+'(To|Cc|Bcc)'", re.IGNORECASE)
_ABOUT_THE_SENDER = re.compile(r"^(Invalid|Error parsing)\s+'(From|Reply-?To)'", re.IGNORECASE)

_CONTENT_REMEDY = "Correct the issue; then publish it again as a new version."
_BUG_REMEDY = "This is a fault of Homing, not of the list; no reader was marked as failed."
_UNLISTED_REMEDY = (
    "Homing does not know this code, so it stopped before any reader was marked as failed. "
    "Look it up in Postmark's documentation, then resume."
)

# What a person must set right, by Postmark's error code. A code in no table stops as well.
_ACCOUNT_REMEDIES: dict[int, str] = {
    10: "Check POSTMARK_SERVER_TOKEN: it must be the token of a Postmark server.",
    14: "Ask Postmark's support to enable this API for the account.",
    400: "Confirm the address or domain of FROM_EMAIL in Postmark, then resume.",
    401: "Confirm the sender signature of FROM_EMAIL in Postmark, then resume.",
    405: "Check the plan and credits of the Postmark account, then resume.",
    412: "Wait until Postmark has approved the account, then resume.",
    413: "Ask Postmark why this account may not send, then resume.",
    422: "Check POSTMARK_SERVER_TOKEN and the Postmark server it belongs to, then resume.",
    1226: "Check POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM, then resume.",
    1235: "Check POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM, then resume.",
    1236: "Name a stream that can send in POSTMARK_BROADCAST_STREAM, then resume.",
    1480: "Put this machine's address on the Postmark server's list of allowed IPs, then resume.",
}
_ACCOUNT_RANGES: tuple[tuple[range, str], ...] = (
    (range(500, 524), "Check sender signatures and domains in Postmark, then resume."),
    (range(600, 700), "Check the settings of the Postmark server, then resume."),
    (range(1220, 1242), "Check the message streams of the Postmark server, then resume."),
)
_CONTENT_REMEDIES: dict[int, str] = {
    402: _BUG_REMEDY,
    403: _BUG_REMEDY,
    409: _BUG_REMEDY,
    411: _CONTENT_REMEDY,
    **dict.fromkeys((1101, 1109, 1120, 1121, 1122, 1123), _BUG_REMEDY),
}


def _quoted(code: int, text: str) -> str:
    shown = " ".join(CONTROL_CHARACTERS.sub(" ", text).split())
    shown = f"{shown[: MAX_TEXT_LENGTH - 1]}…" if len(shown) > MAX_TEXT_LENGTH else shown
    return f"Postmark refuses: “{shown}” (code {code})."


def fault_for(code: int, text: str) -> Fault:
    """The fault that an error code of the account, of a setting or of the content stands for."""
    if code == INVALID_EMAIL and _ABOUT_THE_SENDER.match(text):
        return Fault(_quoted(code, text), "Check FROM_EMAIL and the reply-to, then resume.")
    if code == INVALID_EMAIL:
        return Fault(_quoted(code, text), _CONTENT_REMEDY)
    if code in _ACCOUNT_REMEDIES:
        return Fault(_quoted(code, text), _ACCOUNT_REMEDIES[code])
    if code in _CONTENT_REMEDIES:
        return Fault(_quoted(code, text), _CONTENT_REMEDIES[code])
    for codes, remedy in _ACCOUNT_RANGES:
        if code in codes:
            return Fault(_quoted(code, text), remedy)
    return Fault(_quoted(code, text), _UNLISTED_REMEDY)


def _as_code(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_text(value: object) -> str:
    # Only a string: writing out a deep nest of lists would exhaust the stack.
    return value if isinstance(value, str) else ""


def parse_time(value: object) -> datetime | None:
    """
    Postmark's time with its up to seven fractional digits, in UTC; None for anything else.

    None also for what no server sent in earnest and no database stores: a year far off.
    """
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    if at.tzinfo is None or not 2000 <= at.year < 3000:
        return None
    return at if at.tzinfo is UTC else at.astimezone(UTC)


def parse_message_id(value: object) -> str | None:
    """A provider's id that the tables can hold; None for anything else."""
    if isinstance(value, str) and 0 < len(value) <= MAX_MESSAGE_ID_LENGTH and value.isprintable():
        return value
    return None


def _names(to: str, address: str) -> bool:
    """Whether the `To` of an answer, with or without a display name, is `address`."""
    if to == address:
        return True
    told, wanted = to.strip().casefold(), address.casefold()
    return told == wanted or told.endswith(f"<{wanted}>")


def classify_message(item: object, address: str) -> MessageResult:
    """What one item of a batch answer says about the message to `address`."""
    if not isinstance(item, dict):
        return Unanswered("Postmark's answer held something else than a result.")
    code = _as_code(item.get("ErrorCode"))
    message_id = parse_message_id(item.get("MessageID"))
    text = _as_text(item.get("Message"))
    if code is None or code == 0:
        # A missing code with an id means “accepted, may be delayed”; taking it for a failure
        # would send twice.
        if message_id is None or (code is None and item.get("ErrorCode") is not None):
            return Unanswered("Postmark's answer held neither an id nor an error.")
        to = item.get("To")
        if isinstance(to, str) and not _names(to, address):
            return Unanswered("Postmark's answer names another address at this place.")
        return Accepted(message_id, parse_time(item.get("SubmittedAt")))
    if code == INACTIVE:
        return Inactive("Postmark will not mail this address (code 406): it is inactive there.")
    if code == INVALID_EMAIL and _ABOUT_THE_RECIPIENT.match(text):
        return Refused(_quoted(code, _ADDRESS.sub("…", text)))
    if code in {MAINTENANCE, RATE_LIMIT}:
        return NotNow(_quoted(code, text), too_fast=code == RATE_LIMIT)
    if code == INTERNAL_ERROR:
        return Unanswered(_quoted(code, text))
    return fault_for(code, text)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds of a `Retry-After` in its delta form, at most an hour; None without one."""
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    return min(float(value), 3600.0) if re.fullmatch(r"[0-9]{1,9}", value.strip()) else None


def classify_call(
    status: int, headers: Mapping[str, str], body: bytes, addresses: Sequence[str]
) -> CallResult:
    """
    What the whole answer to `POST /email/batch` says; `addresses` are those of its messages.

    Whatever cannot be read as an answer is `CallUnanswered`: the mail may have gone.
    """
    parsed = _parsed(body)
    if status == 200:
        return _classify_success(parsed, addresses)
    code, text = _error_of(parsed)
    if status == 503 and code == MAINTENANCE:
        return PutOff("Postmark is under maintenance (503).", retry_after_s(headers))
    if status < 300 or status >= 500:
        # A success that is not the API's own comes from something in between, which may have
        # passed the call on.
        return CallUnanswered(f"Postmark answered {status}, which leaves open what it accepted.")
    if status == 429 or code == RATE_LIMIT:
        return PutOff(
            "Postmark asked for a slower pace (429).", retry_after_s(headers), too_fast=True
        )
    if status == 413 or code == TOO_MANY_MESSAGES:
        return TooLarge(f"Postmark found the call too large ({status}).")
    if code is not None and code != 0:
        return _classify_refusal(code, text, addresses)
    if status == 401:
        return CallFault(Fault("Postmark does not accept the token (401).", _ACCOUNT_REMEDIES[10]))
    if status == 403:
        return Blocked(
            "Something before Postmark refuses the call (403).",
            "Check POSTMARK_BASE_URL and the network between this machine and Postmark.",
        )
    if status == 415:
        return CallFault(Fault("Postmark refuses the form of the call (415).", _BUG_REMEDY))
    return CallFault(
        Fault(
            f"Postmark's address answered {status}, which is no answer of its API.",
            "Check POSTMARK_BASE_URL, then resume.",
        )
    )


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _error_of(parsed: object) -> tuple[int | None, str]:
    if not isinstance(parsed, dict):
        return None, ""
    return _as_code(parsed.get("ErrorCode")), _as_text(parsed.get("Message"))


def _classify_success(parsed: object, addresses: Sequence[str]) -> CallResult:
    if not isinstance(parsed, list):
        return CallUnanswered("Postmark's answer could not be read.")
    if len(parsed) != len(addresses):
        return CallUnanswered(
            f"Postmark answered for {len(parsed)} messages; {len(addresses)} were sent."
        )
    answers = [
        classify_message(item, address) for item, address in zip(parsed, addresses, strict=True)
    ]
    ids = [answer.message_id for answer in answers if isinstance(answer, Accepted)]
    if len(set(ids)) == len(ids):
        return Answered(tuple(answers))
    # Each message has an id of its own; of two that share one, at least one is not told about.
    times = Counter(ids)
    return Answered(
        tuple(
            Unanswered("Postmark's answer gave one id to several messages.")
            if isinstance(answer, Accepted) and times[answer.message_id] > 1
            else answer
            for answer in answers
        )
    )


def _classify_refusal(code: int, text: str, addresses: Sequence[str]) -> CallResult:
    """An error body with a 4xx: it concerns the request as a whole."""
    if code == MAINTENANCE:
        return PutOff("Postmark is under maintenance (code 100).")
    if code == INTERNAL_ERROR:
        return CallUnanswered(_quoted(code, text))
    message = classify_message({"ErrorCode": code, "Message": text}, "")
    if isinstance(message, Fault):
        return CallFault(message)
    if len(addresses) == 1:
        return Answered((message,))
    # The whole call was refused for one recipient's sake; alone, the others will pass.
    told = _quoted(code, _ADDRESS.sub("…", text))
    return TooLarge(f"Postmark refused the whole call: {told}")


@dataclass(frozen=True, slots=True)
class SearchPage:
    """
    One page of a search that answered.

    `listed` counts its messages, `total` is how many the whole search has by its own account;
    `found` are those that bear what was asked for.
    """

    found: Sequence[Found]
    listed: int
    total: int


def classify_search(
    status: int, headers: Mapping[str, str], body: bytes, *, field_name: str, value: str
) -> SearchPage | NoInformation:
    """
    What one page of `GET /messages/outbound` says about messages whose metadata `field_name` is
    `value`.

    Anything unexpected is no information. How exactly Postmark compares is not documented, so
    each message is compared here again.
    """
    if status != 200:
        return NoInformation(
            f"Postmark's search answered {status}, which says nothing.", retry_after_s(headers)
        )
    unreadable = NoInformation("Postmark's search gave an answer that could not be read.")
    parsed = _parsed(body)
    messages = parsed.get("Messages") if isinstance(parsed, dict) else None
    if not isinstance(messages, list):
        return unreadable
    found: list[Found] = []
    for message in messages:
        metadata = message.get("Metadata") if isinstance(message, dict) else None
        if not isinstance(metadata, dict):
            return unreadable
        if metadata.get(field_name) != value:
            continue
        delivery, message_id = metadata.get("delivery"), parse_message_id(message.get("MessageID"))
        if not isinstance(delivery, str) or message_id is None:
            # It is there, but whose it is cannot be told: it must not count as absent.
            return unreadable
        found.append(Found(delivery, message_id, parse_time(message.get("ReceivedAt"))))
    total = _as_code(parsed.get("TotalCount"))
    return SearchPage(tuple(found), len(messages), len(messages) if total is None else total)


def classify_page(status: int, headers: Mapping[str, str], body: bytes) -> Page | NoInformation:
    """
    What one page of `GET /messages/outbound` lists, whatever was searched for.

    Anything unexpected is no information: a message that cannot be read must not count as absent.
    One without our metadata is listed as it is, because others may use the same server.
    """
    if status != 200:
        return NoInformation(
            f"Postmark's search answered {status}, which says nothing.", retry_after_s(headers)
        )
    parsed = _parsed(body)
    messages = parsed.get("Messages") if isinstance(parsed, dict) else None
    total = _as_code(parsed.get("TotalCount")) if isinstance(parsed, dict) else None
    if not isinstance(messages, list) or total is None:
        return NoInformation("Postmark's search gave an answer that could not be read.")
    listed: list[Listed] = []
    for message in messages:
        message_id = (
            parse_message_id(message.get("MessageID")) if isinstance(message, dict) else None
        )
        if message_id is None:
            return NoInformation("Postmark's search listed something that could not be read.")
        metadata = message.get("Metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        listed.append(
            Listed(
                _as_text(metadata.get("delivery")),
                message_id,
                parse_time(message.get("ReceivedAt")),
                _as_text(metadata.get("attempt")),
            )
        )
    return Page(tuple(listed), total)
