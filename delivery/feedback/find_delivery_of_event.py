"""Find the copy that an event is about, and whether the event may have an effect.

The provider keeps separate bounces and suppressions for each stream
(docs/decisions/0048-events-of-the-wrong-stream-or-reader.md).
"""

from enum import Enum, auto
from typing import NamedTuple

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from delivery.hooks import reader_hooks
from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.mail.transactional_mail_texts import KIND_BY_ISSUE
from delivery.provider.events import WebhookEvent
from delivery.rules.delivery_key import DeliveryKey


class EventDelivery(NamedTuple):
    """A copy that Homing sent, with the address to which it was sent.

    The address is None if the edition's copies were dropped. The address is empty if its reader was
    erased or never confirmed. `accepted_as` is the provider's id of a copy that counts as sent.
    """

    key: DeliveryKey
    edition: int
    stream: str
    address: str | None
    accepted_as: str | None


class Scope(Enum):
    """The mail that an event is about."""

    NEWSLETTER = auto()
    ON_REQUEST = auto()  # A confirmation, a data request or a test letter.
    OTHER_STREAM = auto()
    OTHER_ADDRESS = auto()


def find_delivery(cursor: CursorWrapper, key: DeliveryKey) -> EventDelivery | None:
    """Find the copy with this key."""
    cursor.execute(
        """
        SELECT edition.id, stream, copy.address,
               CASE copy.outcome WHEN 'sent' THEN copy.provider_message_id END
        FROM edition LEFT JOIN LATERAL (
            SELECT * FROM delivery
            WHERE issue_id = %(issue)s AND version = %(version)s AND recipient_id = %(recipient)s
            OFFSET 0
        ) AS copy ON true
        WHERE edition.issue_id = %(issue)s AND edition.version = %(version)s
          AND (copy.address IS NOT NULL OR deliveries_dropped_at IS NOT NULL)
        """,
        {"issue": key.issue, "version": key.version, "recipient": key.recipient},
    )
    row = cursor.fetchone()
    return EventDelivery(key, *row) if row else None


def scope_of(event: WebhookEvent, delivery: EventDelivery | None) -> Scope:
    """Judge an event by the copy that it names, otherwise by its stream.

    An event without a stream counts as an event of the newsletter's stream. If an event without a
    stream were ignored, a reader who unsubscribed could get mail.
    """
    if delivery is not None:
        if _is_other_address(delivery, event.address_key):
            return Scope.OTHER_ADDRESS
        if event.stream not in {"", delivery.stream}:
            return Scope.OTHER_STREAM
        is_letter = delivery.key.issue not in KIND_BY_ISSUE and delivery.key.issue != TEST_ISSUE
        return Scope.NEWSLETTER if is_letter else Scope.ON_REQUEST
    if event.stream in {"", settings.BROADCAST_STREAM}:
        return Scope.NEWSLETTER
    is_ours = event.stream == settings.TRANSACTIONAL_STREAM
    return Scope.ON_REQUEST if is_ours else Scope.OTHER_STREAM


def _is_other_address(delivery: EventDelivery, address_key: str) -> bool:
    if not address_key:
        return False  # Without an address, an event can only prove an acceptance.
    asked, recipient = reader_hooks.registered(), delivery.key.recipient
    known = asked.address_of(recipient) if delivery.address is None else delivery.address
    if known:
        return known.lower() != address_key
    # After an erasure only a hash of the address is kept. A later sign-up with the same address
    # creates another reader.
    reader = asked.reader_at(address_key)
    return reader not in (None, recipient) and not asked.is_erased(address_key)
