"""Parse the provider's events, from webhooks and from the provider's lists.

Parsing a webhook raises no error. See Postmark's API documentation, “Bounces”, “Suppressions” and
“Webhooks”.
"""

from collections.abc import Iterator, Mapping
from typing import IO, Any

import ijson  # type: ignore[import-untyped]  # it comes without types
import orjson

from delivery.provider.event_fields import (
    MAX_DESCRIPTION_LENGTH,
    MAX_KIND_LENGTH,
    find_issue,
    parse_address,
    parse_key,
    parse_message_id,
    parse_time,
    parse_uuid,
    parse_word,
)
from delivery.provider.events import (
    Acceptance,
    AddressEvent,
    AddressReactivated,
    AddressSuppressed,
    Bounced,
    Delivered,
    WebhookEvent,
)
from delivery.redact_addresses import read_text
from delivery.rules.delivery_key import DeliveryKey

MOST_DIGITS = 20
# Postmark sends a suppression list in one piece, so the list may have 500 MB.
PIECE_BYTES = 64 * 1024
# The deepest nesting that an entry may have, far deeper than Postmark's entries.
DEEPEST = 100
# The events that a site needs, with their names on Postmark's page of webhooks.
WEBHOOK_TYPES: Mapping[str, str] = {
    "Delivery": "Delivery",
    "Bounce": "Bounce",
    "SpamComplaint": "Spam Complaint",
    "SubscriptionChange": "Subscription Change",
}


def parse_event(event: Mapping[str, object]) -> AddressEvent | None:
    """Parse an event; None if its type is unknown or it names no address."""
    match event.get("RecordType"):
        case "Delivery" if about := _about(event, "Recipient", "DeliveredAt"):
            return Delivered(**about)
        case "Bounce" | "SpamComplaint" as kind if about := _about(event, "Email", "BouncedAt"):
            return Bounced(
                **about,
                bounce=_number(event.get("ID")),
                kind="SpamComplaint" if kind == "SpamComplaint" else parse_word(event.get("Type")),
                inactive=event.get("Inactive") is True,
                description=read_text(event.get("Description"), MAX_DESCRIPTION_LENGTH),
            )
        case "SubscriptionChange" if about := _about(event, "Recipient", "ChangedAt"):
            if event.get("SuppressSending") is True:
                reason, origin = event.get("SuppressionReason"), event.get("Origin")
                return AddressSuppressed(
                    **about, reason=parse_word(reason), origin=parse_word(origin)
                )
            if event.get("SuppressSending") is False:
                named = {name: about[name] for name in ("address", "at", "stream")}
                return AddressReactivated(**named)
    return None


def _metadata(event: Mapping[str, object], name: str) -> object:
    metadata = event.get("Metadata")
    return metadata.get(name) if isinstance(metadata, dict) else None


def parse_delivery_key(event: Mapping[str, object]) -> DeliveryKey | None:
    """Return the key of the delivery that an event's metadata names."""
    return parse_key(_metadata(event, "delivery"))


def _about(event: Mapping[str, object], address: str, at: str) -> dict[str, Any] | None:
    if not parse_address(event.get(address)):
        return None
    return {
        "address": parse_address(event.get(address)),
        "at": parse_time(event.get(at)),
        "stream": parse_word(event.get("MessageStream")),
        "delivery": parse_delivery_key(event),
        "message_id": parse_message_id(event.get("MessageID")),
    }


def _number(value: object) -> str | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and 0 < value < 10**MOST_DIGITS else None  # type: ignore[operator]


# The types of event that prove an acceptance, each with the field that contains the event's time.
# This time is an upper bound of the time of acceptance, which events do not contain.
_TIME_FIELDS = {
    "Delivery": "DeliveredAt",
    "Bounce": "BouncedAt",
    "SpamComplaint": "BouncedAt",
    "SubscriptionChange": "ChangedAt",
    "Open": "ReceivedAt",
    "Click": "ReceivedAt",
}


def parse_webhook(body: bytes) -> WebhookEvent:
    """Parse the body of one webhook."""
    try:
        event = orjson.loads(body)
    except orjson.JSONDecodeError:
        event = None
    if not isinstance(event, dict):
        return WebhookEvent("", None)
    address_event = parse_event(event)
    address = parse_address(event.get("Recipient")) or parse_address(event.get("Email"))
    address = address_event.address if address_event else address
    record_type = event.get("RecordType")
    kind = read_text(record_type, MAX_KIND_LENGTH, cut_mark="")
    if not isinstance(record_type, str) or not record_type.isprintable():
        return WebhookEvent("", None, address_key=address.lower())
    return WebhookEvent(
        kind,
        _acceptance(event, record_type),
        address_event,
        find_issue([event.get("Tag")]),
        address.lower(),
        parse_word(event.get("MessageStream")),
    )


def _acceptance(event: dict[str, object], record_type: str) -> Acceptance | None:
    if record_type not in _TIME_FIELDS:
        return None
    message_id, delivery = parse_message_id(event.get("MessageID")), parse_delivery_key(event)
    if message_id is None or delivery is None:
        return None
    at = parse_time(event.get(_TIME_FIELDS[record_type]))
    return Acceptance(delivery, message_id, parse_uuid(_metadata(event, "attempt")), at)


class UnreadableDumpError(Exception):
    """The answer is not a suppression list, or is incomplete."""


def iter_suppressions(dump: IO[bytes], stream: str) -> Iterator[tuple[AddressSuppressed, bytes]]:
    """Yield each entry that names an address, as an event and as its JSON.

    Raises `UnreadableDumpError`.
    """
    try:
        for entry in ijson.items(_events(dump), "Suppressions.item"):
            parsed = _parse_entry(entry, stream)
            if parsed is not None:
                yield parsed
    # Python refuses numbers with thousands of digits; the error comes from the library's C code.
    except (ijson.JSONError, ValueError):
        raise UnreadableDumpError from None


def _events(dump: IO[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Yield the parser's events; raise `UnreadableDumpError` if there is no list."""
    is_there = False
    for place, event, value in ijson.parse(_not_too_deep(dump)):
        is_there = is_there or (place, event) == ("Suppressions", "start_array")
        yield place, event, value
    if not is_there:
        raise UnreadableDumpError


def _not_too_deep(dump: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Limit the nesting, because every open element takes memory."""
    depth = 0
    for event, value in ijson.basic_parse(dump, buf_size=PIECE_BYTES, use_float=True):
        depth += event.startswith("start_") - event.startswith("end_")
        if depth > DEEPEST:
            raise UnreadableDumpError
        yield event, value


def _parse_entry(entry: object, stream: str) -> tuple[AddressSuppressed, bytes] | None:
    if not isinstance(entry, dict):
        raise UnreadableDumpError
    event = {
        "RecordType": "SubscriptionChange",
        "MessageStream": stream,
        "Recipient": entry.get("EmailAddress"),
        "SuppressSending": True,
        "SuppressionReason": entry.get("SuppressionReason"),
        "Origin": entry.get("Origin"),
        "ChangedAt": entry.get("CreatedAt"),
    }
    parsed = parse_event(event)
    if not isinstance(parsed, AddressSuppressed):
        return None
    return parsed, orjson.dumps(event, option=orjson.OPT_SORT_KEYS)
