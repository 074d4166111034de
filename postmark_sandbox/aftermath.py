"""The only place for what becomes of mail once it is accepted: delivered, bounced, complained
about, unsubscribed from; with the suppressions, events and webhooks that follow."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from postmark_sandbox.bounces import Bounce, Bounces
from postmark_sandbox.magic import HARD_BOUNCE, SPAM_COMPLAINT, BounceType, Fate, fate_of
from postmark_sandbox.mime import header, source
from postmark_sandbox.outbox import Message, Outbox, Parcel
from postmark_sandbox.streams import SERVER_ID
from postmark_sandbox.suppressions import Suppression, Suppressions
from postmark_sandbox.times import eastern_text, now_ns, utc_text
from postmark_sandbox.validation import Letter
from postmark_sandbox.webhooks import Webhooks

NOT_ARRIVED = (Fate.BOUNCED, Fate.DROPPED)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to a message after it left. `word` is for the inbox."""

    fate: Fate
    word: str
    address: str
    at_ns: int
    bounce: Bounce | None = None


class Aftermath:
    """What happened to which message. Only what is out of the ordinary is stored: a message
    without a happening was delivered."""

    def __init__(
        self, outbox: Outbox, bounces: Bounces, suppressions: Suppressions, webhooks: Webhooks
    ) -> None:
        self._outbox = outbox
        self._bounces = bounces
        self._suppressions = suppressions
        self._webhooks = webhooks
        self._lock = threading.Lock()
        self._by_number: dict[int, list[Happening]] = {}

    def clear(self) -> None:
        """Forgets what happened."""
        with self._lock:
            self._by_number.clear()

    def of(self, number: int) -> list[Happening]:
        """What happened to a message, in order."""
        return list(self._by_number.get(number, ()))

    def follows(self, parcel: Parcel, letters: list[Letter]) -> None:
        """Lets happen what the addresses of these letters ask for, then tells the webhooks."""
        away: set[tuple[int, str]] = set()
        for number, letter in enumerate(letters, parcel.first):
            if letter.magic:
                self._magic(number, letter)
                away.update((number, h.address) for h in self.of(number) if h.fate in NOT_ARRIVED)
        if self._webhooks.active:
            self._webhooks.send(self._deliveries(parcel, away))

    def _magic(self, number: int, letter: Letter) -> None:
        message = self._outbox.message(number)
        wanted = header(message, "X-PM-Bounce-Type") or None
        for address in letter.recipients:
            fate, kind = fate_of(address, wanted)
            if fate is Fate.BOUNCED and kind is not None:
                self.bounce(message, address, kind)
            elif fate is Fate.COMPLAINED:
                self.complain(message, address)
            elif fate is Fate.UNSUBSCRIBED:
                self.unsubscribe(message, address)
            elif fate is Fate.DROPPED:
                self._note(message.number, Happening(fate, "Dropped", address, now_ns()))

    def bounce(
        self, message: Message, address: str, kind: BounceType = HARD_BOUNCE, times: int = 1
    ) -> None:
        """The mail comes back, and the webhooks are told so many times. A type that is inactive
        puts the address on the list."""
        bounce = self._bounced(message, address, kind)
        self._note(
            message.number, Happening(Fate.BOUNCED, kind.name, address, bounce.at_ns, bounce)
        )
        self._webhooks.send([bounce_event(bounce)], times)
        if kind.inactive:
            self.suppress(message.stream, address, "HardBounce", "Recipient", message)

    def complain(self, message: Message, address: str, times: int = 1) -> None:
        """The reader calls it spam."""
        bounce = self._bounced(message, address, SPAM_COMPLAINT)
        self._note(
            message.number,
            Happening(Fate.COMPLAINED, SPAM_COMPLAINT.name, address, bounce.at_ns, bounce),
        )
        self._webhooks.send([bounce_event(bounce)], times)
        self.suppress(message.stream, address, "SpamComplaint", "Recipient", message)

    def unsubscribe(self, message: Message, address: str) -> None:
        """The reader leaves by Postmark's own link."""
        self._note(message.number, Happening(Fate.UNSUBSCRIBED, "Unsubscribed", address, now_ns()))
        self.suppress(message.stream, address, "ManualSuppression", "Recipient", message)

    def suppress(
        self, stream: str, address: str, reason: str, origin: str, message: Message | None = None
    ) -> None:
        """Puts an address on the list of a stream and tells the webhooks if it is new there."""
        entry = Suppression(address.lower(), reason, origin, now_ns())
        if self._suppressions.add(stream, entry):
            self._webhooks.send([suppressed_event(stream, entry, message)])

    def lift(self, stream: str, address: str) -> None:
        """Takes an address off the list of a stream and tells the webhooks if it was there."""
        if self._suppressions.lift(stream, address) is not None:
            self._webhooks.send([reactivated_event(stream, address.lower())])

    def delivered(self, message: Message, address: str, times: int = 1) -> None:
        """Tells the webhooks, so many times, that a message reached its mailbox."""
        self._webhooks.send([delivery_event(message, address)], times)

    def events(self, message: Message) -> list[dict[str, Any]]:
        """The events of a message as its details list them."""
        happenings = self.of(message.number)
        bounced = {h.address for h in happenings if h.fate in NOT_ARRIVED}
        events = [
            _event(
                address,
                "Delivered",
                message.at_ns,
                DeliveryMessage="smtp;250 2.0.0 OK",
                DestinationServer="127.0.0.1",
                DestinationIP="127.0.0.1",
            )
            for address in message.recipients
            if address not in bounced
        ]
        for h in happenings:
            if h.bounce is not None:
                events.append(
                    _event(
                        h.address,
                        "Bounced",
                        h.at_ns,
                        Summary=h.bounce.type.description,
                        BounceID=str(h.bounce.id),
                    )
                )
            if h.fate is Fate.UNSUBSCRIBED:
                events.append(
                    _event(
                        h.address,
                        "SubscriptionChanged",
                        h.at_ns,
                        Origin="Recipient",
                        SuppressSending="True",
                    )
                )
        return events

    def _deliveries(self, parcel: Parcel, away: set[tuple[int, str]]) -> Iterator[dict[str, Any]]:
        # Read when their turn comes, so `away` was settled before: what happens to a message
        # meanwhile does not undo that it arrived.
        for number in range(parcel.first, parcel.first + parcel.size):
            message = self._outbox.message(number)
            for address in message.recipients:
                if (number, address) not in away:
                    yield delivery_event(message, address)

    def _bounced(self, message: Message, address: str, kind: BounceType) -> Bounce:
        bounce = Bounce(
            id=self._bounces.next_id(),
            type=kind,
            message_id=message.id,
            address=address,
            sender=message.item["From"],
            stream=message.stream,
            tag=message.item.get("Tag") or "",
            subject=message.item.get("Subject") or "",
            metadata=message.metadata,
            at_ns=now_ns(),
            source=source(message),
        )
        self._bounces.add(bounce)
        return bounce

    def _note(self, number: int, happening: Happening) -> None:
        with self._lock:
            self._by_number.setdefault(number, []).append(happening)


def delivery_event(message: Message, address: str) -> dict[str, Any]:
    """The webhook `Delivery`."""
    return {
        "RecordType": "Delivery",
        "MessageStream": message.stream,
        "ServerID": SERVER_ID,
        "MessageID": message.id,
        "Recipient": address,
        "Tag": message.item.get("Tag") or "",
        "DeliveredAt": utc_text(now_ns()),
        "Details": "250 2.0.0 OK",
        "Metadata": message.metadata,
    }


def bounce_event(bounce: Bounce) -> dict[str, Any]:
    """The webhook `Bounce` or `SpamComplaint`."""
    return {
        **bounce.described(),
        "BouncedAt": utc_text(bounce.at_ns),
        "Metadata": bounce.metadata,
    }


def suppressed_event(stream: str, entry: Suppression, message: Message | None) -> dict[str, Any]:
    """The webhook `SubscriptionChange` for an address that came onto the list. Without a message
    if the account itself put it there."""
    by_reader = entry.origin == "Recipient" and message is not None
    return {
        "RecordType": "SubscriptionChange",
        "MessageID": message.id if message is not None and by_reader else None,
        "ServerID": SERVER_ID,
        "MessageStream": stream,
        "ChangedAt": utc_text(entry.at_ns),
        "Recipient": entry.address,
        "Origin": entry.origin,
        "SuppressSending": True,
        "SuppressionReason": entry.reason,
        "Tag": message.item.get("Tag") if message is not None and by_reader else None,
        "Metadata": message.metadata if message is not None and by_reader else {},
    }


def reactivated_event(stream: str, address: str) -> dict[str, Any]:
    """The webhook `SubscriptionChange` for an address that came off the list."""
    return {
        "RecordType": "SubscriptionChange",
        "MessageID": None,
        "ServerID": SERVER_ID,
        "MessageStream": stream,
        "ChangedAt": utc_text(now_ns()),
        "Recipient": address,
        "Origin": "Customer",
        "SuppressSending": False,
        "SuppressionReason": None,
        "Tag": None,
        "Metadata": {},
    }


def _event(recipient: str, name: str, at_ns: int, **details: str) -> dict[str, Any]:
    return {
        "Recipient": recipient,
        "Type": name,
        "ReceivedAt": eastern_text(at_ns),
        "Details": details,
    }
