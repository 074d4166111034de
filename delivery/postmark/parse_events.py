"""Parse the provider's events, from webhooks and from the provider's lists.

Parsing a webhook raises no error. See Postmark's API documentation, “Bounces”, “Suppressions” and
“Webhooks”.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import IO, Any
from uuid import UUID

import ijson  # type: ignore[import-untyped]  # it comes without types
import orjson

from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.postmark.classify_responses import parse_message_id, parse_time
from delivery.redact_addresses import read_text
from delivery.rules import delivery_key
from delivery.rules.delivery_key import DeliveryKey

MAX_KIND_LENGTH = 40
ISSUE_TAG = "issue-"
MAX_ADDRESS_LENGTH = 254
MAX_WORD_LENGTH = 40
MAX_DESCRIPTION_LENGTH = 500
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


class BounceMeaning(Enum):
    """The meaning of a bounce for its address."""

    BOUNCED = "the address takes no mail"
    LEFT = "its owner asked by mail to leave"
    COMPLAINED = "its owner called the letter spam"
    COUNTED = "this delivery bounced; several of them say something about the address"
    NOTED = "nothing to act on"


_MEANINGS: Mapping[str, BounceMeaning] = {
    **dict.fromkeys(
        ("HardBounce", "BadEmailAddress", "ManuallyDeactivated"), BounceMeaning.BOUNCED
    ),
    "Unsubscribe": BounceMeaning.LEFT,
    "SpamComplaint": BounceMeaning.COMPLAINED,
    **dict.fromkeys(("SoftBounce", "DnsError", "SpamNotification"), BounceMeaning.COUNTED),
    **dict.fromkeys(("Unknown", "VirusNotification"), BounceMeaning.COUNTED),
    **dict.fromkeys(("Unconfirmed", "Blocked"), BounceMeaning.COUNTED),
}


def bounce_types(meaning: BounceMeaning) -> list[str]:
    """Return the types of bounce that have this meaning."""
    return [kind for kind, means in _MEANINGS.items() if means is meaning]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressEvent:
    """An event about an address. `at` is the provider's time, if the event has one.

    `is_on_request`: the event is about mail on request, such as a confirmation, and not about the
    newsletter.
    """

    address: str
    at: datetime | None
    stream: str = ""
    delivery: DeliveryKey | None = None
    message_id: str | None = None
    is_on_request: bool = False

    @property
    def address_key(self) -> str:
        """The address in lower case, as comparisons use it."""
        return self.address.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered(AddressEvent):
    """The receiving server accepted the mail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounced(AddressEvent):
    """Mail bounced, or caused a complaint.

    `bounce` is the provider's number of the bounce. `inactive`: Postmark no longer sends mail to
    the address.
    """

    bounce: str | None
    kind: str
    inactive: bool
    description: str = ""

    @property
    def meaning(self) -> BounceMeaning:
        """The meaning for the address."""
        meaning = _MEANINGS.get(self.kind, BounceMeaning.NOTED)
        is_weak = meaning in {BounceMeaning.COUNTED, BounceMeaning.NOTED}
        return BounceMeaning.BOUNCED if self.inactive and is_weak else meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressSuppressed(AddressEvent):
    """The provider no longer sends mail to the address on this stream.

    `is_our_own`: we requested this suppression.
    """

    reason: str
    origin: str
    is_our_own: bool = False

    @property
    def meaning(self) -> BounceMeaning:
        """The meaning for the address; `NOTED` if only the provider refuses the address."""
        if self.reason == "ManualSuppression" and self.origin == "Recipient":
            return BounceMeaning.LEFT
        reasons = {"HardBounce": BounceMeaning.BOUNCED, "SpamComplaint": BounceMeaning.COMPLAINED}
        return reasons.get(self.reason, BounceMeaning.NOTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressReactivated(AddressEvent):
    """The provider would mail the address again. No reader is resubscribed.

    `is_our_own`: we requested this reactivation for a mail on request, so the event says nothing
    about letters.
    """

    is_our_own: bool = False


def received_by(event: AddressEvent, received_at: datetime) -> AddressEvent:
    """Return the event, with time `received_at` if its own time is missing or later.

    The provider's clock may be ahead.
    """
    at = received_at if event.at is None else min(event.at, received_at)
    return replace(event, at=at)


def parse_event(event: Mapping[str, object]) -> AddressEvent | None:
    """Parse an event; None if its type is unknown or it names no address."""
    match event.get("RecordType"):
        case "Delivery" if about := _about(event, "Recipient", "DeliveredAt"):
            return Delivered(**about)
        case "Bounce" | "SpamComplaint" as kind if about := _about(event, "Email", "BouncedAt"):
            return Bounced(
                **about,
                bounce=_number(event.get("ID")),
                kind="SpamComplaint" if kind == "SpamComplaint" else _word(event.get("Type")),
                inactive=event.get("Inactive") is True,
                description=read_text(event.get("Description"), MAX_DESCRIPTION_LENGTH),
            )
        case "SubscriptionChange" if about := _about(event, "Recipient", "ChangedAt"):
            if event.get("SuppressSending") is True:
                reason, origin = event.get("SuppressionReason"), event.get("Origin")
                return AddressSuppressed(**about, reason=_word(reason), origin=_word(origin))
            if event.get("SuppressSending") is False:
                named = {name: about[name] for name in ("address", "at", "stream")}
                return AddressReactivated(**named)
    return None


def _metadata(event: Mapping[str, object], name: str) -> object:
    metadata = event.get("Metadata")
    return metadata.get(name) if isinstance(metadata, dict) else None


def parse_delivery_key(event: Mapping[str, object]) -> DeliveryKey | None:
    """Return the key of the delivery that an event's metadata names."""
    key = _metadata(event, "delivery")
    return delivery_key.read(key) if isinstance(key, str) else None


def _about(event: Mapping[str, object], address: str, at: str) -> dict[str, Any] | None:
    if not _address(event.get(address)):
        return None
    return {
        "address": _address(event.get(address)),
        "at": parse_time(event.get(at)),
        "stream": _word(event.get("MessageStream")),
        "delivery": parse_delivery_key(event),
        "message_id": parse_message_id(event.get("MessageID")),
    }


def _address(value: object) -> str:
    """Return an address of printable ASCII around one @; empty for anything else."""
    if not isinstance(value, str):
        return ""
    address = value.strip()
    fits = len(address) <= MAX_ADDRESS_LENGTH and address.isascii() and address.isprintable()
    return address if fits and address.count("@") == 1 and " " not in address else ""


def _word(value: object) -> str:
    is_word = isinstance(value, str) and value.isprintable()
    return read_text(value, MAX_WORD_LENGTH, cut_mark="") if is_word else ""


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


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The provider accepted this delivery at the time `by` or earlier."""

    delivery: DeliveryKey
    message_id: str
    attempt: UUID | None
    by: datetime | None


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """What an event of a webhook says about a delivery and about an address.

    `kind` may be empty.
    """

    kind: str
    accepted: Acceptance | None
    address_event: AddressEvent | None = None
    issue: UUID | None = None
    address_key: str = ""
    stream: str = ""

    @property
    def is_of_a_test(self) -> bool:
        """Whether the event is about a test letter, and so about no reader."""
        key = self.address_event.delivery if self.address_event else None
        return self.issue == TEST_ISSUE or (key is not None and key.issue == TEST_ISSUE)

    @property
    def delivery(self) -> DeliveryKey | None:
        """The delivery that the event itself names."""
        if self.address_event is not None and self.address_event.delivery is not None:
            return self.address_event.delivery
        return self.accepted.delivery if self.accepted is not None else None


def parse_webhook(body: bytes) -> WebhookEvent:
    """Parse the body of one webhook."""
    try:
        event = orjson.loads(body)
    except orjson.JSONDecodeError:
        event = None
    if not isinstance(event, dict):
        return WebhookEvent("", None)
    address_event = parse_event(event)
    address = _address(event.get("Recipient")) or _address(event.get("Email"))
    address = address_event.address if address_event else address
    record_type = event.get("RecordType")
    kind = read_text(record_type, MAX_KIND_LENGTH, cut_mark="")
    if not isinstance(record_type, str) or not record_type.isprintable():
        return WebhookEvent("", None, address_key=address.lower())
    tag = str(event.get("Tag"))
    return WebhookEvent(
        kind,
        _acceptance(event, record_type),
        address_event,
        _uuid(tag.removeprefix(ISSUE_TAG)) if tag.startswith(ISSUE_TAG) else None,
        address.lower(),
        _word(event.get("MessageStream")),
    )


def _acceptance(event: dict[str, object], record_type: str) -> Acceptance | None:
    if record_type not in _TIME_FIELDS:
        return None
    message_id, delivery = parse_message_id(event.get("MessageID")), parse_delivery_key(event)
    if message_id is None or delivery is None:
        return None
    at = parse_time(event.get(_TIME_FIELDS[record_type]))
    return Acceptance(delivery, message_id, _uuid(_metadata(event, "attempt")), at)


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(hex=value) if isinstance(value, str) else None
    except ValueError:
        return None


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
