"""The only place for what becomes of mail once it is accepted: delivered, bounced, complained
about, unsubscribed from; with the suppressions, events and webhooks that follow."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from postmark_sandbox.events.magic_addresses import (
    HARD_BOUNCE,
    SPAM_COMPLAINT,
    BounceType,
    Fate,
    fate_of,
)
from postmark_sandbox.events.one_click import Tried
from postmark_sandbox.events.send_webhooks import Webhooks
from postmark_sandbox.pages.raw_mail import header, source
from postmark_sandbox.postmark_api.validation import Letter
from postmark_sandbox.state.bounces import Bounce, Bounces
from postmark_sandbox.state.outbox import Message, Outbox, Parcel
from postmark_sandbox.state.streams import SERVER_ID
from postmark_sandbox.state.suppressions import Suppression, Suppressions
from postmark_sandbox.times import eastern_text, now_ns, utc_text


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to a message after it left. `word` and `detail` are for the inbox.
    `instead`: it happened instead of a delivery, not after one."""

    fate: Fate
    word: str
    address: str
    at_ns: int
    bounce: Bounce | None = None
    detail: str = ""
    instead: bool = False


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
                away.update((number, h.address) for h in self.of(number) if h.instead)
        if self._webhooks.wants("Delivery"):
            self._webhooks.send(self._deliveries(parcel, away))

    def _magic(self, number: int, letter: Letter) -> None:
        message = self._outbox.message(number)
        wanted = header(message, "X-PM-Bounce-Type") or None
        for address in letter.recipients:
            fate, kind = fate_of(address, wanted)
            if fate is Fate.BOUNCED and kind is not None:
                self.bounce(message, address, kind, instead=True)
            elif fate is Fate.COMPLAINED:
                self.complain(message, address)
            elif fate is Fate.UNSUBSCRIBED:
                self.unsubscribe(message, address)
            elif fate is Fate.DROPPED:
                self._note(
                    message.number, Happening(fate, "Dropped", address, now_ns(), instead=True)
                )

    def bounce(
        self,
        message: Message,
        address: str,
        kind: BounceType = HARD_BOUNCE,
        times: int = 1,
        *,
        instead: bool = False,
    ) -> None:
        """The mail comes back, `instead` of arriving or later, and the webhooks are told so many
        times. A type that is inactive puts the address on the list."""
        bounce = self._bounced(message, address, kind)
        self._note(
            message.number,
            Happening(Fate.BOUNCED, kind.name, address, bounce.at_ns, bounce, instead=instead),
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
        """Puts an address on the list of a stream and tells the webhooks if that changes it."""
        entry = Suppression(address.lower(), reason, origin, now_ns())
        if self._suppressions.add(stream, entry):
            self._webhooks.send([suppressed_event(stream, entry, message)])

    def lift(self, stream: str, address: str, origin: str = "Customer") -> bool:
        """Takes an address off the list of a stream, with its bounces active again, and tells the
        webhooks; False if it was not there."""
        if self._suppressions.lift(stream, address) is None:
            return False
        self._bounces.activate(stream, address)
        self._webhooks.send([reactivated_event(stream, address.lower(), origin)])
        return True

    def reactivate(self, message: Message, address: str) -> None:
        """The address may be mailed again: by its reader's own hand on Postmark's page if the
        reader had left, else by the account. Never after a complaint."""
        held = self._suppressions.of(message.stream).get(address.lower())
        if held is None:
            raise ValueError(f"{address} is not suppressed on the stream {message.stream}.")
        if held.reason == "SpamComplaint":
            raise ValueError(f"{address} complained: Postmark never lifts that.")
        origin = "Customer" if held.can_be_lifted() else "Recipient"
        self._note(message.number, Happening(Fate.REACTIVATED, "Reactivated", address, now_ns()))
        self.lift(message.stream, address, origin)

    def delivered(self, message: Message, address: str, times: int = 1) -> None:
        """Tells the webhooks, so many times, that a message reached its mailbox."""
        self._note(message.number, Happening(Fate.DELIVERED, "Delivered again", address, now_ns()))
        self._webhooks.send([delivery_event(message, address)], times)

    def tried_to_leave(self, message: Message, tried: Tried, encoding: str) -> None:
        """A mailbox provider posted to the link of a message, or found that it could not."""
        word = f"One-click, {encoding}"
        address = message.recipients[0]
        self._note(
            message.number,
            Happening(Fate.ONE_CLICK, word, address, now_ns(), detail=tried.sentence),
        )

    def arrived(self, message: Message) -> list[str]:
        """The addresses that it reached at once."""
        away = {h.address for h in self.of(message.number) if h.instead}
        return [address for address in message.recipients if address not in away]

    def events(self, message: Message) -> list[dict[str, Any]]:
        """The events of a message as its details list them."""
        events = [_delivered(address, message.at_ns) for address in self.arrived(message)]
        for h in self.of(message.number):
            if h.fate is Fate.DELIVERED:
                events.append(_delivered(h.address, h.at_ns))
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
            if h.fate in (Fate.UNSUBSCRIBED, Fate.REACTIVATED):
                events.append(
                    _event(
                        h.address,
                        "SubscriptionChanged",
                        h.at_ns,
                        Origin="Recipient",
                        SuppressSending=str(h.fate is Fate.UNSUBSCRIBED),
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
    """The webhook `Bounce` or `SpamComplaint`. `Content` reaches only who asked for it."""
    return {
        **bounce.described(),
        "BouncedAt": utc_text(bounce.at_ns),
        "Metadata": bounce.metadata,
        "Content": bounce.source,
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


def reactivated_event(stream: str, address: str, origin: str) -> dict[str, Any]:
    """The webhook `SubscriptionChange` for an address that came off the list."""
    return {
        "RecordType": "SubscriptionChange",
        "MessageID": None,
        "ServerID": SERVER_ID,
        "MessageStream": stream,
        "ChangedAt": utc_text(now_ns()),
        "Recipient": address,
        "Origin": origin,
        "SuppressSending": False,
        "SuppressionReason": None,
        "Tag": None,
        "Metadata": {},
    }


def _delivered(address: str, at_ns: int) -> dict[str, Any]:
    return _event(
        address,
        "Delivered",
        at_ns,
        DeliveryMessage="smtp;250 2.0.0 OK",
        DestinationServer="127.0.0.1",
        DestinationIP="127.0.0.1",
    )


def _event(recipient: str, name: str, at_ns: int, **details: str) -> dict[str, Any]:
    return {
        "Recipient": recipient,
        "Type": name,
        "ReceivedAt": eastern_text(at_ns),
        "Details": details,
    }
