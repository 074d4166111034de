"""A webhook's body as a value (source: Postmark's documentation of its webhooks). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson

from delivery.mail.test_letter import TEST_ISSUE
from delivery.postmark.provider_events import (
    AddressEvent,
    parse_delivery_key,
    parse_event,
    parse_event_address,
)
from delivery.postmark.responses import parse_message_id, parse_time
from delivery.rules.delivery_key import DeliveryKey

MAX_KIND_LENGTH = 40
ISSUE_TAG = "issue-"

# The types of event that prove an acceptance, and the field of their time. That time is later than
# the acceptance, which no event names: an upper bound.
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
    """The provider accepted this delivery, at the latest at `by`."""

    delivery: DeliveryKey
    message_id: str
    attempt: UUID | None
    by: datetime | None


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """What an event says of a delivery and of an address. `kind` is empty if unknown."""

    kind: str
    accepted: Acceptance | None
    address_event: AddressEvent | None = None
    issue: UUID | None = None
    address_key: str = ""

    @property
    def is_of_a_test(self) -> bool:
        """Whether it is about a test letter, which says nothing of any reader."""
        key = self.address_event.delivery if self.address_event else None
        return self.issue == TEST_ISSUE or (key is not None and key.issue == TEST_ISSUE)

    @property
    def delivery(self) -> DeliveryKey | None:
        """The delivery that it names itself."""
        if self.address_event is not None:
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
    address = address_event.address if address_event else parse_event_address(event)
    record_type = event.get("RecordType")
    if not isinstance(record_type, str) or not record_type.isprintable():
        return WebhookEvent("", None, address_key=address.lower())
    tag = str(event.get("Tag"))
    return WebhookEvent(
        record_type[:MAX_KIND_LENGTH],
        _acceptance(event, record_type),
        address_event,
        _uuid(tag.removeprefix(ISSUE_TAG)) if tag.startswith(ISSUE_TAG) else None,
        address.lower(),
    )


def _acceptance(event: dict[str, object], record_type: str) -> Acceptance | None:
    if record_type not in _TIME_FIELDS:
        return None
    message_id, metadata = parse_message_id(event.get("MessageID")), event.get("Metadata")
    delivery = parse_delivery_key(event)
    if message_id is None or delivery is None or not isinstance(metadata, dict):
        return None
    at = parse_time(event.get(_TIME_FIELDS[record_type]))
    return Acceptance(delivery, message_id, _uuid(metadata.get("attempt")), at)


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(hex=value) if isinstance(value, str) else None
    except ValueError:
        return None
