"""The only place for the suppression lists, one for each stream."""

from dataclasses import dataclass
from typing import Any

from postmark_sandbox.http.response import Refused
from postmark_sandbox.postmark_api.addresses import checked
from postmark_sandbox.times import eastern_text

REASONS = ("HardBounce", "SpamComplaint", "ManualSuppression")
ORIGINS = ("Recipient", "Customer", "Admin")
MOST_AT_ONCE = 50
NO_AUTHORITY = "You do not have the required authority to change this suppression."


@dataclass(frozen=True, slots=True)
class Suppression:
    """An address that a stream may not mail, and why. The address is in lower case."""

    address: str
    reason: str
    origin: str
    at_ns: int

    def described(self) -> dict[str, Any]:
        """The entry as the dump shows it."""
        return {
            "EmailAddress": self.address,
            "SuppressionReason": self.reason,
            "Origin": self.origin,
            "CreatedAt": eastern_text(self.at_ns),
        }

    def can_be_lifted(self) -> bool:
        """A complaint never is, nor is an unsubscribe by the reader's own hand."""
        return self.reason == "HardBounce" or (
            self.reason == "ManualSuppression" and self.origin == "Customer"
        )


class Suppressions:
    """Who may not be mailed, by stream."""

    def __init__(self) -> None:
        self._by_stream: dict[str, dict[str, Suppression]] = {}

    def of(self, stream: str) -> dict[str, Suppression]:
        """The list of one stream, by address in lower case."""
        return self._by_stream.setdefault(stream, {})

    def add(self, stream: str, entry: Suppression) -> bool:
        """Puts an address on the list; True if that changes it. A reason that cannot be lifted is
        never replaced by another, nor what the mailbox said by what the account says."""
        held = self.of(stream).get(entry.address)
        if held is not None and not (held.can_be_lifted() and entry.origin == "Recipient"):
            return False
        if held is not None and held.reason == entry.reason and held.origin == entry.origin:
            return False
        self.of(stream)[entry.address] = entry
        return True

    def lift(self, stream: str, address: str) -> Suppression | None:
        """Takes an address off the list, whatever the reason; None if it was not there."""
        return self.of(stream).pop(address.lower(), None)

    def clear(self) -> None:
        """Forgets every list."""
        self._by_stream.clear()

    def dump(
        self,
        stream: str,
        query: dict[str, str],
        from_ns: int | None = None,
        to_ns: int | None = None,
    ) -> list[Suppression]:
        """The list of a stream, filtered as the query of `…/suppressions/dump` asks."""
        reason, origin = query.get("suppressionreason"), query.get("origin")
        if reason is not None and reason.lower() not in [r.lower() for r in REASONS]:
            raise Refused(1404, f"The 'SuppressionReason' '{reason}' is not valid.")
        if origin is not None and origin.lower() not in [o.lower() for o in ORIGINS]:
            raise Refused(1405, f"The 'Origin' '{origin}' is not valid.")
        address = query.get("emailaddress")
        return [
            entry
            for entry in list(self.of(stream).values())
            if (reason is None or entry.reason.lower() == reason.lower())
            and (origin is None or entry.origin.lower() == origin.lower())
            and (address is None or entry.address == address.lower())
            and (from_ns is None or entry.at_ns >= from_ns)
            and (to_ns is None or entry.at_ns <= to_ns)
        ]


def addresses_in(body: Any) -> list[Any]:
    """The addresses of a request to create or delete, or Postmark's 1409 or 1410."""
    entries = body.get("Suppressions") if isinstance(body, dict) else None
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise Refused(1409, "The request body must hold a list of 'Suppressions'.")
    if len(entries) > MOST_AT_ONCE:
        raise Refused(1410, f"You may only change up to {MOST_AT_ONCE} suppressions per request.")
    return [entry.get("EmailAddress") for entry in entries]


def why_not_an_address(found: Any) -> str | None:
    """Postmark's sentence for an entry without a valid address, else None."""
    sentence = "An invalid email address was provided."
    if not isinstance(found, str):
        return sentence
    try:
        checked(found, "EmailAddress")
    except Refused:
        return sentence
    return None
