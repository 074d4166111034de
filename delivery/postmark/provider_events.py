"""
What the provider tells about addresses, as facts. Pure, and never an error.

One event of a webhook, one bounce of the polled list and one entry of a suppression list become
the same words here, so that by whichever way something is told it does the same. Type and reason
are read by their names: the numbers beside them are known to be wrong in places.
Source: Postmark's API documentation, “Bounces”, “Suppressions” and “Webhooks”.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from types import MappingProxyType

from delivery.postmark.responses import parse_message_id, parse_time
from delivery.rules import delivery_key
from delivery.rules.delivery_key import DeliveryKey

MAX_ADDRESS_LENGTH = 254
MAX_WORD_LENGTH = 40
MAX_DESCRIPTION_LENGTH = 500
MOST_DIGITS = 20


class BounceMeaning(Enum):
    """What a bounce says about the address it came from."""

    BOUNCED = "the address takes no mail"
    LEFT = "its owner asked by mail to leave"
    COMPLAINED = "its owner called the letter spam"
    COUNTED = "this copy came back; several of them say something about the address"
    NOTED = "nothing that anybody has to act on"


_MEANINGS: Mapping[str, BounceMeaning] = MappingProxyType(
    {
        "HardBounce": BounceMeaning.BOUNCED,
        "BadEmailAddress": BounceMeaning.BOUNCED,
        "ManuallyDeactivated": BounceMeaning.BOUNCED,
        "Unsubscribe": BounceMeaning.LEFT,
        "SpamComplaint": BounceMeaning.COMPLAINED,
        "SoftBounce": BounceMeaning.COUNTED,
        "DnsError": BounceMeaning.COUNTED,
        "SpamNotification": BounceMeaning.COUNTED,
        "Unknown": BounceMeaning.COUNTED,
        "VirusNotification": BounceMeaning.COUNTED,
        "Unconfirmed": BounceMeaning.COUNTED,
        "Blocked": BounceMeaning.COUNTED,
    }
)


def meaning_of_bounce(kind: str, *, inactive: bool) -> BounceMeaning:
    """
    What a bounce of this type says. `inactive`: Postmark mails the address no more, which says more
    than any type that is not grave in itself.
    """
    meaning = _MEANINGS.get(kind, BounceMeaning.NOTED)
    if inactive and meaning in {BounceMeaning.COUNTED, BounceMeaning.NOTED}:
        return BounceMeaning.BOUNCED
    return meaning


def bounce_types(meaning: BounceMeaning) -> list[str]:
    """The types of bounce that mean this by themselves."""
    return [kind for kind, means in _MEANINGS.items() if means is meaning]


# --- Facts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAbout:
    """
    Whom a fact is about: the address as told, which copy if that is known, and when it happened by
    the provider's clock (None if it did not say).
    """

    address: str
    at: datetime | None
    stream: str = ""
    delivery: DeliveryKey | None = None
    message_id: str | None = None

    @property
    def address_key(self) -> str:
        """The address as addresses are compared."""
        return self.address.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered(EventAbout):
    """The receiving server took the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounced(EventAbout):
    """Mail came back, or was complained about; `bounce` is the provider's number of it."""

    bounce: str | None
    kind: str
    inactive: bool
    description: str = ""

    @property
    def meaning(self) -> BounceMeaning:
        """What it says about the address."""
        return meaning_of_bounce(self.kind, inactive=self.inactive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed(EventAbout):
    """
    The provider mails the address no more on this stream; why, and at whose word, as it says it.

    `is_our_own`: we asked for it ourselves, so that it says nothing new.
    """

    reason: str
    origin: str
    is_our_own: bool = False

    @property
    def meaning(self) -> BounceMeaning:
        """What it says about the address's owner; `NOTED`: only that the provider refuses it."""
        match self.reason, self.origin:
            case "HardBounce", _:
                return BounceMeaning.BOUNCED
            case "SpamComplaint", _:
                return BounceMeaning.COMPLAINED
            case "ManualSuppression", "Recipient":
                return BounceMeaning.LEFT
            case _:
                return BounceMeaning.NOTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactivated(EventAbout):
    """The provider would mail the address again. It brings nobody back."""


ProviderEvent = Delivered | Bounced | Suppressed | Reactivated


def received_by(fact: ProviderEvent, seen: datetime) -> ProviderEvent:
    """The same, told at `seen`: what it tells of was over by then, whatever its clock says."""
    return replace(fact, at=seen if fact.at is None else min(fact.at, seen))


# --- Reading --------------------------------------------------------------------------------------


def parse_event(event: Mapping[str, object]) -> ProviderEvent | None:
    """The fact that an event tells, or None: of an unknown type, or about no address."""
    match event.get("RecordType"):
        case "Delivery":
            address, at = _address(event.get("Recipient")), parse_time(event.get("DeliveredAt"))
            return _delivered(event, address, at) if address else None
        case "Bounce" | "SpamComplaint" as record_type:
            address, at = _address(event.get("Email")), parse_time(event.get("BouncedAt"))
            return _bounced(event, record_type, address, at) if address else None
        case "SubscriptionChange":
            address, at = _address(event.get("Recipient")), parse_time(event.get("ChangedAt"))
            return _changed(event, address, at) if address else None
        case _:
            return None


def parse_event_address(event: Mapping[str, object]) -> str:
    """Whose address an event of any type names where Postmark writes it; empty if it names none."""
    return _address(event.get("Recipient")) or _address(event.get("Email"))


def _delivered(event: Mapping[str, object], address: str, at: datetime | None) -> Delivered:
    stream, delivery, message_id = _copy(event)
    return Delivered(
        address=address, at=at, stream=stream, delivery=delivery, message_id=message_id
    )


def _bounced(
    event: Mapping[str, object], record_type: str, address: str, at: datetime | None
) -> Bounced:
    stream, delivery, message_id = _copy(event)
    return Bounced(
        address=address,
        at=at,
        stream=stream,
        delivery=delivery,
        message_id=message_id,
        bounce=_number(event.get("ID")),
        kind="SpamComplaint" if record_type == "SpamComplaint" else _word(event.get("Type")),
        inactive=event.get("Inactive") is True,
        description=_sentence(event.get("Description")),
    )


def _changed(
    event: Mapping[str, object], address: str, at: datetime | None
) -> Suppressed | Reactivated | None:
    stream, delivery, message_id = _copy(event)
    if event.get("SuppressSending") is True:
        return Suppressed(
            address=address,
            at=at,
            stream=stream,
            delivery=delivery,
            message_id=message_id,
            reason=_word(event.get("SuppressionReason")),
            origin=_word(event.get("Origin")),
        )
    if event.get("SuppressSending") is False:
        return Reactivated(address=address, at=at, stream=stream)
    return None


def _copy(event: Mapping[str, object]) -> tuple[str, DeliveryKey | None, str | None]:
    metadata = event.get("Metadata")
    key = metadata.get("delivery") if isinstance(metadata, dict) else None
    return (
        _word(event.get("MessageStream")),
        delivery_key.read(key) if isinstance(key, str) else None,
        parse_message_id(event.get("MessageID")),
    )


def _address(value: object) -> str:
    """An address as the tables can hold it: printable ASCII around one @; empty for all else."""
    if not isinstance(value, str):
        return ""
    address = value.strip()
    fits = len(address) <= MAX_ADDRESS_LENGTH and address.isascii() and address.isprintable()
    return address if fits and address.count("@") == 1 and " " not in address else ""


def _word(value: object) -> str:
    return value[:MAX_WORD_LENGTH] if isinstance(value, str) and value.isprintable() else ""


def _sentence(value: object) -> str:
    if not isinstance(value, str):
        return ""
    shown = "".join(letter if letter.isprintable() else " " for letter in value)
    return " ".join(shown.split())[:MAX_DESCRIPTION_LENGTH]


def _number(value: object) -> str | None:
    """The provider's number of a bounce: larger than 32 bits, and never calculated with."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and 0 < value < 10**MOST_DIGITS else None  # type: ignore[operator]
