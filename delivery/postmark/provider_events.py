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

from delivery.postmark.responses import message_id_in, time_in
from delivery.rules import delivery_key
from delivery.rules.delivery_key import DeliveryKey

LONGEST_ADDRESS = 254
LONGEST_WORD = 40
LONGEST_DESCRIPTION = 500
MOST_DIGITS = 20


class Meaning(Enum):
    """What a bounce says about the address it came from."""

    BOUNCED = "the address takes no mail"
    LEFT = "its owner asked by mail to leave"
    COMPLAINED = "its owner called the letter spam"
    COUNTED = "this copy came back; several of them say something about the address"
    NOTED = "nothing that anybody has to act on"


_MEANINGS: Mapping[str, Meaning] = MappingProxyType(
    {
        "HardBounce": Meaning.BOUNCED,
        "BadEmailAddress": Meaning.BOUNCED,
        "ManuallyDeactivated": Meaning.BOUNCED,
        "Unsubscribe": Meaning.LEFT,
        "SpamComplaint": Meaning.COMPLAINED,
        "SoftBounce": Meaning.COUNTED,
        "DnsError": Meaning.COUNTED,
        "SpamNotification": Meaning.COUNTED,
        "Unknown": Meaning.COUNTED,
        "VirusNotification": Meaning.COUNTED,
        "Unconfirmed": Meaning.COUNTED,
        "Blocked": Meaning.COUNTED,
    }
)


def meaning_of(kind: str, *, inactive: bool) -> Meaning:
    """
    What a bounce of this type says. `inactive`: Postmark mails the address no more, which says more
    than any type that is not grave in itself.
    """
    meaning = _MEANINGS.get(kind, Meaning.NOTED)
    if inactive and meaning in {Meaning.COUNTED, Meaning.NOTED}:
        return Meaning.BOUNCED
    return meaning


def types_that_mean(meaning: Meaning) -> list[str]:
    """The types of bounce that mean this by themselves."""
    return [kind for kind, means in _MEANINGS.items() if means is meaning]


# --- Facts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
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
class Delivered(About):
    """The receiving server took the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounced(About):
    """Mail came back, or was complained about; `bounce` is the provider's number of it."""

    bounce: str | None
    kind: str
    inactive: bool
    description: str = ""

    @property
    def meaning(self) -> Meaning:
        """What it says about the address."""
        return meaning_of(self.kind, inactive=self.inactive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed(About):
    """
    The provider mails the address no more on this stream; why, and at whose word, as it says it.

    `is_our_own`: we asked for it ourselves, so that it says nothing new.
    """

    reason: str
    origin: str
    is_our_own: bool = False

    @property
    def meaning(self) -> Meaning:
        """What it says about the address's owner; `NOTED`: only that the provider refuses it."""
        match self.reason, self.origin:
            case "HardBounce", _:
                return Meaning.BOUNCED
            case "SpamComplaint", _:
                return Meaning.COMPLAINED
            case "ManualSuppression", "Recipient":
                return Meaning.LEFT
            case _:
                return Meaning.NOTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactivated(About):
    """The provider would mail the address again. It brings nobody back."""


Fact = Delivered | Bounced | Suppressed | Reactivated


def told_at(fact: Fact, seen: datetime) -> Fact:
    """The same, told at `seen`: what it tells of was over by then, whatever its clock says."""
    return replace(fact, at=seen if fact.at is None else min(fact.at, seen))


# --- Reading --------------------------------------------------------------------------------------


def fact_in(event: Mapping[str, object]) -> Fact | None:
    """The fact that an event tells, or None: of an unknown type, or about no address."""
    match event.get("RecordType"):
        case "Delivery":
            address, at = _address(event.get("Recipient")), time_in(event.get("DeliveredAt"))
            return _delivered(event, address, at) if address else None
        case "Bounce" | "SpamComplaint" as record_type:
            address, at = _address(event.get("Email")), time_in(event.get("BouncedAt"))
            return _bounced(event, record_type, address, at) if address else None
        case "SubscriptionChange":
            address, at = _address(event.get("Recipient")), time_in(event.get("ChangedAt"))
            return _changed(event, address, at) if address else None
        case _:
            return None


def address_in(event: Mapping[str, object]) -> str:
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
        message_id_in(event.get("MessageID")),
    )


def _address(value: object) -> str:
    """An address as the tables can hold it: printable ASCII around one @; empty for all else."""
    if not isinstance(value, str):
        return ""
    address = value.strip()
    fits = len(address) <= LONGEST_ADDRESS and address.isascii() and address.isprintable()
    return address if fits and address.count("@") == 1 and " " not in address else ""


def _word(value: object) -> str:
    return value[:LONGEST_WORD] if isinstance(value, str) and value.isprintable() else ""


def _sentence(value: object) -> str:
    if not isinstance(value, str):
        return ""
    shown = "".join(letter if letter.isprintable() else " " for letter in value)
    return " ".join(shown.split())[:LONGEST_DESCRIPTION]


def _number(value: object) -> str | None:
    """The provider's number of a bounce: larger than 32 bits, and never calculated with."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and 0 < value < 10**MOST_DIGITS else None  # type: ignore[operator]
