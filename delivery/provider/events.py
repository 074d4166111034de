"""What a provider reports about a copy or an address, as values.

A provider translates its own reports into these values and these names of bounces, so that the
rest of Homing reads one language. The names are Postmark's (API documentation, “Bounces”).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from uuid import UUID

from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.rules.delivery_key import DeliveryKey


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
