"""Events after the acceptance of a message, with their suppressions and webhooks."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from postmark_sandbox.events.webhook_queue import WebhookQueue
from postmark_sandbox.faults.webhook_faults import delivery_fields
from postmark_sandbox.rules.magic_addresses import (
    HARD_BOUNCE,
    SPAM_COMPLAINT,
    BounceType,
    EventType,
    event_type_of,
)
from postmark_sandbox.rules.streams import SERVER_ID
from postmark_sandbox.rules.validation import CheckedMessage
from postmark_sandbox.state.accepted_messages import Message, Outbox, StoredRequest
from postmark_sandbox.state.bounces import BounceRecord, Bounces
from postmark_sandbox.state.raw_mail import source
from postmark_sandbox.state.suppressions import SuppressionEntry, Suppressions
from postmark_sandbox.times import eastern_text, now_ns, utc_text

DELIVERED = {
    "DestinationServer": "127.0.0.1",
    "DestinationIP": "127.0.0.1",
    "DeliveryMessage": "smtp;250 2.0.0 OK",
}


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """An event of a sent message. `label` is the event's text in the inbox."""

    outcome: EventType
    label: str
    address: str
    at_ns: int
    bounce: BounceRecord | None = None
    replaces_delivery: bool = False


class MessageEvents:
    """The events of all messages. A message without a stored event was delivered."""

    def __init__(
        self, outbox: Outbox, bounces: Bounces, suppressions: Suppressions, webhooks: WebhookQueue
    ) -> None:
        self._outbox = outbox
        self._bounces = bounces
        self._suppressions = suppressions
        self._webhooks = webhooks
        self._lock = threading.Lock()
        self._by_number: dict[int, list[MessageEvent]] = {}

    def clear(self) -> None:
        with self._lock:
            self._by_number.clear()

    def of(self, number: int) -> list[MessageEvent]:
        """Return the events of a message, in order."""
        return list(self._by_number.get(number, ()))

    def accepted(self, stored: StoredRequest, messages: list[CheckedMessage]) -> None:
        """Store the events of magic addresses, then post the deliveries to the webhooks."""
        missed: set[tuple[int, str]] = set()
        for number, message in enumerate(messages, stored.first):
            if message.magic:
                self._apply_magic(self._outbox.message(number))
                missed.update((number, e.address) for e in self.of(number) if e.replaces_delivery)
        if any("Delivery" in hook.verified for hook in self._webhooks.hooks.all()):
            self._webhooks.send(self._deliveries(stored, missed), of_call=True)

    def _apply_magic(self, message: Message) -> None:
        for address in message.recipients:
            outcome, kind = event_type_of(address, message.header("X-PM-Bounce-Type"))
            if kind is not None:
                bounced = outcome is EventType.BOUNCED
                self.bounce(message, address, kind, replaces_delivery=bounced)
            elif outcome is EventType.UNSUBSCRIBED:
                self.unsubscribe(message, address)
            elif outcome is EventType.DROPPED:
                self._note(message, outcome, "Dropped", address, replaces_delivery=True)

    def bounce(
        self,
        message: Message,
        address: str,
        kind: BounceType = HARD_BOUNCE,
        times: int = 1,
        *,
        replaces_delivery: bool = False,
    ) -> None:
        """Record a bounce or complaint; post its webhook `times` times."""
        bounce = self._bounces.add(kind, message, address)
        complaint = kind is SPAM_COMPLAINT
        outcome = EventType.COMPLAINED if complaint else EventType.BOUNCED
        self._note(
            message, outcome, kind.name, address, bounce=bounce, replaces_delivery=replaces_delivery
        )
        self._webhooks.send([bounce_webhook(bounce)], times)
        if kind.inactive:
            reason = "SpamComplaint" if complaint else "HardBounce"
            self.suppress(message.stream, address, reason, "Recipient", message)

    def unsubscribe(self, message: Message, address: str) -> None:
        """Unsubscribe the reader as Postmark's own link does."""
        self._note(message, EventType.UNSUBSCRIBED, "Unsubscribed", address)
        self.suppress(message.stream, address, "ManualSuppression", "Recipient", message)

    def suppress(
        self, stream: str, address: str, reason: str, origin: str, message: Message | None = None
    ) -> None:
        """Suppress an address in a stream; if it was not suppressed yet, post a webhook."""
        entry = SuppressionEntry(address.lower(), reason, origin, now_ns())
        if self._suppressions.add(stream, entry):
            event = subscription_webhook(stream, entry.address, origin, entry.at_ns)
            event |= {"SuppressSending": True, "SuppressionReason": reason}
            if message is not None and origin == "Recipient":
                tag = message.item.get("Tag")
                event |= {"MessageID": message.id, "Metadata": message.metadata, "Tag": tag}
            self._webhooks.send([event])

    def lift(self, stream: str, address: str, origin: str = "Customer") -> None:
        """Remove an address from a stream's suppressions and reactivate its bounces."""
        if self._suppressions.lift(stream, address):
            self._bounces.activate(stream, address)
            self._webhooks.send([subscription_webhook(stream, address.lower(), origin, now_ns())])

    def reactivate(self, message: Message, address: str) -> None:
        """Lift a suppression as the account, or as the reader if the account may not."""
        held = self._suppressions.of(message.stream).get(address.lower())
        if held is None:
            raise ValueError(f"{address} is not suppressed on the stream {message.stream}.")
        if held.reason == "SpamComplaint":
            raise ValueError(f"{address} complained: Postmark never lifts that.")
        origin = "Customer" if held.can_be_lifted() else "Recipient"
        self._note(message, EventType.REACTIVATED, "Reactivated", address)
        self.lift(message.stream, address, origin)

    def delivered(self, message: Message, address: str, times: int = 1) -> None:
        """Note a repeated delivery of a message, and post its webhook `times` times."""
        self._note(message, EventType.DELIVERED, "Delivered again", address)
        self._webhooks.send([_delivery_webhook(message, address)], times)

    def delivered_to(self, message: Message) -> list[str]:
        """Return a message's recipients without those whose copy never arrived."""
        missed = {e.address for e in self.of(message.number) if e.replaces_delivery}
        return [address for address in message.recipients if address not in missed]

    def as_json(self, message: Message) -> list[dict[str, Any]]:
        """Return a message's events as Postmark lists them in the message's details."""
        at_once = [(address, message.at_ns) for address in self.delivered_to(message)]
        listed = [_detail(*delivered, "Delivered", DELIVERED) for delivered in at_once]
        for event in self.of(message.number):
            when = (event.address, event.at_ns)
            if event.outcome is EventType.DELIVERED:
                listed.append(_detail(*when, "Delivered", DELIVERED))
            elif (bounce := event.bounce) is not None:
                details = {"Summary": bounce.type.description, "BounceID": str(bounce.id)}
                listed.append(_detail(*when, "Bounced", details))
            elif event.outcome in (EventType.UNSUBSCRIBED, EventType.REACTIVATED):
                left = str(event.outcome is EventType.UNSUBSCRIBED)
                details = {"Origin": "Recipient", "SuppressSending": left}
                listed.append(_detail(*when, "SubscriptionChanged", details))
        return listed

    def _deliveries(
        self, stored: StoredRequest, missed: set[tuple[int, str]]
    ) -> Iterator[dict[str, Any]]:
        # Read each message only when its post is due. `missed` was computed when the messages were
        # accepted, so a later event does not hide a delivery.
        for number in range(stored.first, stored.first + stored.size):
            message = self._outbox.message(number)
            for address in message.recipients:
                if (number, address) not in missed:
                    yield _delivery_webhook(message, address)

    def _note(
        self, message: Message, outcome: EventType, label: str, address: str, **more: Any
    ) -> None:
        event = MessageEvent(outcome, label, address, now_ns(), **more)
        with self._lock:
            self._by_number.setdefault(message.number, []).append(event)


def _delivery_webhook(message: Message, address: str) -> dict[str, Any]:
    return delivery_fields(address) | {
        "MessageStream": message.stream,
        "ServerID": SERVER_ID,
        "MessageID": message.id,
        "Tag": message.tag,
        "Metadata": message.metadata,
    }


def bounce_webhook(bounce: BounceRecord) -> dict[str, Any]:
    """Build a `Bounce` or `SpamComplaint`. The queue removes unwanted `Content`."""
    return {
        **bounce.as_json(),
        "BouncedAt": utc_text(bounce.at_ns),
        "Metadata": bounce.message.metadata,
        "Content": source(bounce.message),
    }


def subscription_webhook(stream: str, address: str, origin: str, at_ns: int) -> dict[str, Any]:
    """Build a `SubscriptionChange` for an address that is no longer suppressed."""
    return {
        "RecordType": "SubscriptionChange",
        "MessageID": None,
        "ServerID": SERVER_ID,
        "MessageStream": stream,
        "ChangedAt": utc_text(at_ns),
        "Recipient": address,
        "Origin": origin,
        "SuppressSending": False,
        "SuppressionReason": None,
        "Tag": None,
        "Metadata": {},
    }


def _detail(recipient: str, at_ns: int, name: str, details: dict[str, str]) -> dict[str, Any]:
    at = eastern_text(at_ns)
    return {"Recipient": recipient, "Type": name, "ReceivedAt": at, "Details": details}
