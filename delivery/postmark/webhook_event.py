"""
What a webhook's body says, as a value. Pure, and never an error: nothing is too strange to be read.

Source of the fields: Postmark's documentation of its webhooks. Whatever cannot be understood (no
JSON, an unknown type, mail of another system) says nothing, and is kept all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

import orjson

from delivery.mail.test_letter import TEST_ISSUE
from delivery.postmark import provider_events
from delivery.postmark.provider_events import ProviderEvent
from delivery.postmark.responses import parse_message_id, parse_time
from delivery.rules import delivery_key
from delivery.rules.delivery_key import DeliveryKey

MAX_KIND_LENGTH = 40
# What stands before an issue's id in the tag of its mail (delivery/mail/message.py).
ISSUE_TAG = "issue-"

# Every type of event that can only befall a message which the provider has accepted, with the field
# that says when it did. That moment is later than the acceptance, which no event names: an upper
# bound, better than none.
_HAPPENED_AT = MappingProxyType(
    {
        "Delivery": "DeliveredAt",
        "Bounce": "BouncedAt",
        "SpamComplaint": "BouncedAt",
        "SubscriptionChange": "ChangedAt",
        "Open": "ReceivedAt",
        "Click": "ReceivedAt",
    }
)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The provider has accepted this copy, at the latest at `by`."""

    delivery: DeliveryKey
    message_id: str
    attempt: UUID | None
    by: datetime | None

    def told_at(self, seen: datetime) -> Acceptance:
        """The same, told at `seen`: what it tells of was over by then, whatever its clock says."""
        return self if self.by is None else replace(self, by=min(self.by, seen))


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """
    Its type, empty if it names none; what it says about one of our deliveries, and about an
    address. `issue` is the one that its tag names: polled bounces bear no other mark of ours.
    `address_key`: whom it is about, case-folded, also where it says nothing that we act on, such
    as an opened letter; empty if it names nobody.
    """

    kind: str
    accepted: Acceptance | None
    fact: ProviderEvent | None = None
    issue: UUID | None = None
    address_key: str = ""

    @property
    def is_of_a_test(self) -> bool:
        """Whether it is about a test letter: that says nothing of any reader."""
        copy = self.fact.delivery if self.fact else None
        return self.issue == TEST_ISSUE or (copy is not None and copy.issue == TEST_ISSUE)


def parse_webhook(body: bytes) -> WebhookEvent:
    """What the body of one webhook says."""
    try:
        event = orjson.loads(body)
    except orjson.JSONDecodeError:
        return WebhookEvent("", None)
    if not isinstance(event, dict):
        return WebhookEvent("", None)
    record_type = event.get("RecordType")
    if not isinstance(record_type, str) or not record_type.isprintable():
        return WebhookEvent(
            "", None, address_key=provider_events.parse_event_address(event).lower()
        )
    accepted = _accepted(event, _HAPPENED_AT[record_type]) if record_type in _HAPPENED_AT else None
    return WebhookEvent(
        record_type[:MAX_KIND_LENGTH],
        accepted,
        provider_events.parse_event(event),
        _issue(event.get("Tag")),
        provider_events.parse_event_address(event).lower(),
    )


def _accepted(event: dict[str, object], time_field: str) -> Acceptance | None:
    message_id, metadata = parse_message_id(event.get("MessageID")), event.get("Metadata")
    if message_id is None or not isinstance(metadata, dict):
        return None
    key, attempt = metadata.get("delivery"), metadata.get("attempt")
    delivery = delivery_key.read(key) if isinstance(key, str) else None
    if delivery is None:
        return None
    return Acceptance(delivery, message_id, _attempt(attempt), parse_time(event.get(time_field)))


def _issue(tag: object) -> UUID | None:
    if not isinstance(tag, str) or not tag.startswith(ISSUE_TAG):
        return None
    return _attempt(tag.removeprefix(ISSUE_TAG))


def _attempt(value: object) -> UUID | None:
    try:
        return UUID(hex=value) if isinstance(value, str) else None
    except ValueError:
        return None
