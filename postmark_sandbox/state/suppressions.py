"""Suppression lists, one for each stream."""

from dataclasses import dataclass
from typing import Any

from postmark_sandbox.http import PostmarkError
from postmark_sandbox.times import eastern_text

REASONS = ("HardBounce", "SpamComplaint", "ManualSuppression")
ORIGINS = ("Recipient", "Customer", "Admin")
NO_AUTHORITY = "You do not have the required authority to change this suppression."


@dataclass(frozen=True, slots=True)
class SuppressionEntry:
    """An address in lower case to which a stream sends no mail."""

    address: str
    reason: str
    origin: str
    at_ns: int

    def as_json(self) -> dict[str, Any]:
        """Return the entry as the dump shows it."""
        return {
            "EmailAddress": self.address,
            "SuppressionReason": self.reason,
            "Origin": self.origin,
            "CreatedAt": eastern_text(self.at_ns),
        }

    def can_be_lifted(self) -> bool:
        """Return whether the account may remove the entry.

        A complaint and an unsubscribe by the reader cannot be lifted.
        """
        by_account = self.reason == "ManualSuppression" and self.origin == "Customer"
        return self.reason == "HardBounce" or by_account


class Suppressions:
    def __init__(self) -> None:
        self._by_stream: dict[str, dict[str, SuppressionEntry]] = {}

    def of(self, stream: str) -> dict[str, SuppressionEntry]:
        """Return the suppressions of one stream, with addresses in lower case as keys."""
        return self._by_stream.setdefault(stream, {})

    def blocks_lifting(self, stream: str, address: str) -> bool:
        """Return whether the address has a suppression that the account may not lift."""
        entry = self.of(stream).get(address.lower())
        return entry is not None and not entry.can_be_lifted()

    def add(self, stream: str, entry: SuppressionEntry) -> bool:
        """Add an address; return whether the list has changed.

        Only an entry with the origin `Recipient` replaces an existing entry, and only if the
        existing entry can be lifted.
        """
        held = self.of(stream).get(entry.address)
        if held is not None:
            same = (held.reason, held.origin) == (entry.reason, entry.origin)
            if same or not held.can_be_lifted() or entry.origin != "Recipient":
                return False
        self.of(stream)[entry.address] = entry
        return True

    def lift(self, stream: str, address: str) -> bool:
        """Remove an address, whatever its reason; return whether it was listed."""
        return self.of(stream).pop(address.lower(), None) is not None

    def clear(self) -> None:
        self._by_stream.clear()

    def dump(
        self, stream: str, query: dict[str, str], from_ns: int, to_ns: int
    ) -> list[SuppressionEntry]:
        """Return a stream's list, filtered by the query of `…/suppressions/dump`."""
        wanted = {name: query[name].lower() for name in query}
        reason, origin = wanted.get("suppressionreason"), wanted.get("origin")
        if reason not in (None, *(r.lower() for r in REASONS)):
            sentence = f"The 'SuppressionReason' '{query['suppressionreason']}' is not valid."
            raise PostmarkError(1404, sentence)
        if origin not in (None, *(o.lower() for o in ORIGINS)):
            raise PostmarkError(1405, f"The 'Origin' '{query['origin']}' is not valid.")
        return [
            entry
            for entry in list(self.of(stream).values())
            if reason in (None, entry.reason.lower())
            and origin in (None, entry.origin.lower())
            and wanted.get("emailaddress") in (None, entry.address)
            and from_ns <= entry.at_ns <= to_ns
        ]
