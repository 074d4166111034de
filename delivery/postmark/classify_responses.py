"""Classify Postmark's answers: first by the error code, then by the HTTP status.

See Postmark's API documentation, “API error codes”, “Email API”, “Bounces”, “Suppressions”.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.parser import HeaderParser
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from delivery.provider.event_fields import (
    MAX_MESSAGE_ID_LENGTH,
    parse_message_id,
    parse_time,
    parse_zoned_time,
)
from delivery.provider.http_connection import RawResponse, retry_after_s
from delivery.provider.provider_protocol import BOUNCES, CHECK_FIELD, SEARCH
from delivery.redact_addresses import read_text
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    FoundMessage,
    MessagePage,
    MessageResult,
    NotSent,
    RefusedByProxy,
    RejectedForAll,
    SearchFailed,
    TooLarge,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent, Suppressed
from delivery.rules.reason import Reason, ReasonCode, Remedy

Parsed = TypeVar("Parsed")

MAINTENANCE = 100
INTERNAL_ERROR = 101
INVALID_EMAIL = 300
INACTIVE = 406
TOO_MANY_MESSAGES = 410
RATE_LIMIT = 429

# The provider's texts have no maximum length, but the tables and pages need one.
MAX_TEXT_LENGTH = 300

_ABOUT_THE_RECIPIENT = re.compile(r"^(Invalid|Error parsing)\s+'(To|Cc|Bcc)'", re.IGNORECASE)
_ABOUT_THE_SENDER = re.compile(r"^(Invalid|Error parsing)\s+'(From|Reply-?To)'", re.IGNORECASE)

# The remedies by Postmark's error code. An unknown code also stops the edition.
_REMEDIES: Mapping[int, Remedy] = {
    **dict.fromkeys(range(500, 524), Remedy.SIGNATURES_AND_DOMAINS),
    **dict.fromkeys(range(600, 700), Remedy.SERVER_SETTINGS),
    **dict.fromkeys(range(1220, 1242), Remedy.STREAM_SETTINGS),
    10: Remedy.TOKEN,
    14: Remedy.ENABLE_API,
    400: Remedy.CONFIRM_SENDER,
    401: Remedy.CONFIRM_SIGNATURE,
    405: Remedy.PLAN_AND_CREDITS,
    411: Remedy.CORRECT_ISSUE,
    412: Remedy.WAIT_FOR_APPROVAL,
    413: Remedy.ASK_PROVIDER,
    422: Remedy.TOKEN_AND_SERVER,
    1226: Remedy.STREAM_NAMES,
    1235: Remedy.STREAM_NAMES,
    1236: Remedy.STREAM_THAT_SENDS,
    1480: Remedy.ALLOWED_IPS,
    **dict.fromkeys((402, 403, 409, 1101, 1109, 1120, 1121, 1122, 1123), Remedy.HOMING_FAULT),
}


def _quoted(code: int, text: str) -> Reason:
    return Reason.of(ReasonCode.PROVIDER_ERROR, error_code=code, text=text)


def _remedy_for(code: int, text: str) -> Remedy:
    if code == INVALID_EMAIL:
        is_sender = _ABOUT_THE_SENDER.match(text)
        return Remedy.FROM_AND_REPLY_TO if is_sender else Remedy.CORRECT_ISSUE
    return _REMEDIES.get(code, Remedy.LOOK_UP_CODE)


def _as_code(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _message_of(answer: Mapping[str, Any]) -> str:
    return read_text(answer.get("Message"), MAX_TEXT_LENGTH)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _names(to: str, address: str) -> bool:
    named, wanted = to.strip().casefold(), address.casefold()
    return named == wanted or named.endswith(f"<{wanted}>")


def classify_message(item: object, address: str) -> MessageResult:
    """Classify one item of a batch answer, about the message to `address`."""
    if not isinstance(item, dict):
        return Unanswered(Reason.of(ReasonCode.RESPONSE_WITHOUT_RESULT))
    code = _as_code(item.get("ErrorCode"))
    message_id = parse_message_id(item.get("MessageID"))
    text = _message_of(item)
    if code is None or code == 0:
        # An answer with an id but without a code means “accepted, may be delayed”. If such an
        # answer counted as a failure, the mail would be sent twice.
        if message_id is None or (code is None and item.get("ErrorCode") is not None):
            return Unanswered(Reason.of(ReasonCode.RESPONSE_WITHOUT_RESULT))
        to = item.get("To")
        if isinstance(to, str) and not _names(to, address):
            return Unanswered(Reason.of(ReasonCode.RESPONSE_FOR_OTHER_ADDRESS))
        return Sent(message_id, parse_time(item.get("SubmittedAt")))
    if code == INACTIVE:
        return Suppressed(Reason.of(ReasonCode.INACTIVE_RECIPIENT))
    if code == INVALID_EMAIL and _ABOUT_THE_RECIPIENT.match(text):
        return Failed(_quoted(code, text), refused=True)
    if code in {MAINTENANCE, RATE_LIMIT}:
        return Deferred(_quoted(code, text), too_fast=code == RATE_LIMIT)
    if code == INTERNAL_ERROR:
        return Unanswered(_quoted(code, text))
    return RejectedForAll(_quoted(code, text).with_params(remedy=_remedy_for(code, text)))


def error_of(answer: RawResponse | NotSent | Unanswered, subject: str) -> SearchFailed | None:
    """Return why the answer to a query cannot be used, or None if it can."""
    if not isinstance(answer, RawResponse):
        return SearchFailed(answer.reason)
    if answer.status == 200:
        return None
    reason = Reason.of(ReasonCode.QUERY_STATUS, subject=subject, status=answer.status)
    return SearchFailed(reason, retry_after_s(answer.headers))


def parse_query(
    answer: RawResponse | NotSent | Unanswered,
    subject: str,
    parse: Callable[[dict[str, Any]], Parsed | None],
) -> Parsed | SearchFailed:
    """Parse the JSON object of an answer to a query.

    `parse` returns None if the object is unreadable.
    """
    if error := error_of(answer, subject):
        return error
    found = _parsed(answer.body) if isinstance(answer, RawResponse) else None
    parsed = parse(found) if isinstance(found, dict) else None
    if parsed is None:
        return SearchFailed(Reason.of(ReasonCode.QUERY_UNREADABLE, subject=subject))
    return parsed


def classify_call(
    status: int, headers: Mapping[str, str], body: bytes, addresses: Sequence[str]
) -> CallResult:
    """Classify the answer of `POST /email/batch`.

    If the answer is unreadable, the result is `Unanswered`, because the mail may have been sent.
    """
    parsed = _parsed(body)
    if status == 200:
        return _classify_success(parsed, addresses)
    error = parsed if isinstance(parsed, dict) else {}
    code, text = _as_code(error.get("ErrorCode")), _message_of(error)
    if status == 503 and code == MAINTENANCE:
        return Deferred(Reason.of(ReasonCode.MAINTENANCE), retry_after_s(headers))
    if status < 300 or status >= 500:
        # The API answers success only with 200. Any other status of success, or a 5xx, may come
        # from a proxy, which may have passed the call on.
        return Unanswered(Reason.of(ReasonCode.STATUS_AMBIGUOUS, status=status))
    if status == 429 or code == RATE_LIMIT:
        return Deferred(Reason.of(ReasonCode.TOO_FAST), retry_after_s(headers), too_fast=True)
    if status == 413 or code == TOO_MANY_MESSAGES:
        return TooLarge(Reason.of(ReasonCode.CALL_TOO_LARGE, status=status))
    if code is not None and code != 0:
        return _classify_refusal(code, text, addresses)
    if status == 401:
        return RejectedForAll(Reason.of(ReasonCode.TOKEN_REFUSED, remedy=Remedy.TOKEN))
    if status == 403:
        return RefusedByProxy(Reason.of(ReasonCode.BLOCKED_BEFORE_PROVIDER, remedy=Remedy.NETWORK))
    if status == 415:
        return RejectedForAll(Reason.of(ReasonCode.MEDIA_TYPE_REFUSED, remedy=Remedy.HOMING_FAULT))
    return RejectedForAll(Reason.of(ReasonCode.NOT_THE_API, status=status, remedy=Remedy.BASE_URL))


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _classify_success(parsed: object, addresses: Sequence[str]) -> CallResult:
    if not isinstance(parsed, list):
        return Unanswered(Reason.of(ReasonCode.RESPONSE_UNREADABLE))
    if len(parsed) != len(addresses):
        return Unanswered(
            Reason.of(ReasonCode.RESPONSE_COUNT_WRONG, answered=len(parsed), sent=len(addresses))
        )
    if accepted := _all_accepted(parsed, addresses):
        return accepted
    answers = [
        classify_message(item, address) for item, address in zip(parsed, addresses, strict=True)
    ]
    # Ids are unique. If two messages have the same id, at least one of them has a wrong id.
    times = Counter(answer.message_id for answer in answers if isinstance(answer, Sent))
    return Answered(
        tuple(
            Unanswered(Reason.of(ReasonCode.RESPONSE_REPEATS_ID))
            if isinstance(answer, Sent) and times[answer.message_id] > 1
            else answer
            for answer in answers
        )
    )


# The fields of an accepted message: its code, id, address and time.
_FIELDS = tuple(map(itemgetter, ("ErrorCode", "MessageID", "To", "SubmittedAt")))
_USUAL_IN_IDS = bytes(range(0x20, 0x7F))


def _all_accepted(items: list[Any], addresses: Sequence[str]) -> AllAccepted | None:
    """Return the result if all messages were accepted in the usual form, else None.

    Almost every answer has this form, so no Python code runs for each message. `classify_message`
    gives the same result for each message, and also reads rare forms.
    """
    try:
        codes, ids, named, times = (list(map(field, items)) for field in _FIELDS)
        # The times are not converted to UTC, because that would take longer than the rest of this
        # function.
        parsed = {time: parse_zoned_time(time) for time in set(times)}
        unusual = "".join(ids).encode().translate(None, _USUAL_IN_IDS)
    except (KeyError, TypeError):
        return None
    if {*map(type, codes)} != {int} or any(codes):
        return None
    if not all(ids) or len(set(ids)) < len(ids) or len(max(ids, key=len)) > MAX_MESSAGE_ID_LENGTH:
        return None
    if unusual or named != list(addresses):
        return None
    return AllAccepted(ids, [parsed[time] for time in times])


def _classify_refusal(code: int, text: str, addresses: Sequence[str]) -> CallResult:
    """Classify an error body with a 4xx, which concerns the request as a whole."""
    if code == MAINTENANCE:
        return Deferred(Reason.of(ReasonCode.MAINTENANCE))
    if code == INTERNAL_ERROR:
        return Unanswered(_quoted(code, text))
    message = classify_message({"ErrorCode": code, "Message": text}, "")
    if isinstance(message, RejectedForAll):
        return message
    if len(addresses) == 1:
        return Answered((message,))
    # Postmark refused the whole call because of one recipient. Without that recipient, Postmark
    # would accept the other messages.
    quoted = _quoted(code, text)
    return TooLarge(Reason(ReasonCode.CALL_REFUSED_FOR_ONE, quoted.params))


class SearchPage(NamedTuple):
    """One page of a search: its matches, how many messages it lists, and the total."""

    found: Sequence[FoundMessage]
    listed: int
    total: int


def parse_search(answer: dict[str, Any], *, field_name: str, value: str) -> SearchPage | None:
    """Parse one page of `GET /messages/outbound`.

    Returns the messages whose metadata `field_name` is `value`, or None if the page is unreadable.
    Postmark does not document how it compares values, so each message is compared again.
    """
    messages, total = answer.get("Messages"), _as_code(answer.get("TotalCount"))
    if not isinstance(messages, list):
        return None
    found: list[FoundMessage] = []
    for message in messages:
        metadata = message.get("Metadata") if isinstance(message, dict) else None
        if not isinstance(metadata, dict):
            return None
        if metadata.get(field_name) != value:
            continue
        # A check mail belongs to no delivery.
        delivery = "" if field_name == CHECK_FIELD else metadata.get("delivery")
        message_id = parse_message_id(message.get("MessageID"))
        if not isinstance(delivery, str) or message_id is None:
            # The message exists but its delivery is unknown, so the message must not count as
            # absent.
            return None
        found.append(FoundMessage(delivery, message_id, parse_time(message.get("ReceivedAt"))))
    return SearchPage(tuple(found), len(messages), len(messages) if total is None else total)


def parse_page(answer: dict[str, Any]) -> MessagePage | None:
    """Parse all messages on a page of `GET /messages/outbound`; None if unreadable.

    The page counts as unreadable if one message is unreadable, because that message must not count
    as absent. A message without our metadata is included, because other systems may use the same
    server.
    """
    messages, total = answer.get("Messages"), _as_code(answer.get("TotalCount"))
    if not isinstance(messages, list) or total is None:
        return None
    listed: list[FoundMessage] = []
    for message in messages:
        message = message if isinstance(message, dict) else {}
        message_id, metadata = parse_message_id(message.get("MessageID")), message.get("Metadata")
        if message_id is None:
            return None
        metadata = metadata if isinstance(metadata, dict) else {}
        delivery, attempt = _as_text(metadata.get("delivery")), _as_text(metadata.get("attempt"))
        listed.append(
            FoundMessage(delivery, message_id, parse_time(message.get("ReceivedAt")), attempt)
        )
    return MessagePage(tuple(listed), total)


def parse_sent_headers(answer: dict[str, Any]) -> Mapping[str, str] | None:
    """Read the headers of a message's source, each value on one line.

    Returns None if the answer has no source.
    """
    source = answer.get("Body")
    if not isinstance(source, str) or not source:
        return None
    headers: dict[str, list[str]] = {}
    for name, value in HeaderParser().parsestr(source).items():
        headers.setdefault(name.lower(), []).append(" ".join(str(value).split()))
    return {name: ", ".join(values) for name, values in headers.items()}


class BouncePage(NamedTuple):
    """One page of bounces as bodies of events, newest first, and the total."""

    events: Sequence[bytes]
    oldest_at: datetime | None
    total: int


def parse_bounces(answer: dict[str, Any]) -> BouncePage | None:
    """Parse one page of `GET /bounces`; None if unreadable.

    Each bounce is returned as the event that a webhook would report.
    """
    bounces, total = answer.get("Bounces"), answer.get("TotalCount")
    if not isinstance(bounces, list) or not isinstance(total, int):
        return None
    events = []
    for bounce in bounces:
        if not isinstance(bounce, dict):
            return None
        kind = "SpamComplaint" if bounce.get("Type") == "SpamComplaint" else "Bounce"
        events.append(orjson.dumps({**bounce, "RecordType": kind}, option=orjson.OPT_SORT_KEYS))
    return BouncePage(events, parse_time(bounces[-1].get("BouncedAt")) if bounces else None, total)


class Listing(NamedTuple, Generic[Parsed]):
    """A list that Postmark shows page by page, newest first."""

    path: str
    subject: str
    parse: Callable[[dict[str, Any]], Parsed | None]


MESSAGES = Listing("/messages/outbound", SEARCH, parse_page)
BOUNCE_LIST = Listing("/bounces", BOUNCES, parse_bounces)


def parse_suppression_results(answer: dict[str, Any]) -> Mapping[str, str] | None:
    """Return Postmark's reason for each refused address; empty for other addresses.

    Addresses are case-folded.
    """
    items = answer.get("Suppressions")
    if not isinstance(items, list):
        return None
    results: dict[str, str] = {}
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("EmailAddress"), str):
            continue
        address = item["EmailAddress"].strip().lower()
        if item.get("Status") in ("Suppressed", "Deleted"):
            results[address] = ""
        elif item.get("Status") == "Failed":
            results[address] = _message_of(item) or "Postmark gave no reason."
    return results
