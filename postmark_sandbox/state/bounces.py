"""Bounces and complaints."""

from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import Any

from postmark_sandbox.http import PostmarkError
from postmark_sandbox.rules.magic_addresses import BOUNCE_TYPES, SPAM_COMPLAINT, BounceType
from postmark_sandbox.rules.streams import SERVER_ID
from postmark_sandbox.state.accepted_messages import Message
from postmark_sandbox.times import eastern_text, now_ns

# Like Postmark's ids, these fit into 32 bits. Larger ids could cause errors: JavaScript rounds
# integers above 2**53.
FIRST_ID = 692_560_173


@dataclass(slots=True)
class BounceRecord:
    id: int
    type: BounceType
    message: Message
    address: str
    at_ns: int
    active_again: bool = False

    @property
    def inactive(self) -> bool:
        return self.type.inactive and not self.active_again

    def as_json(self) -> dict[str, Any]:
        """Return the bounce as `GET /bounces/{id}` shows it."""
        return {
            "RecordType": "SpamComplaint" if self.type is SPAM_COMPLAINT else "Bounce",
            "ID": self.id,
            "Type": self.type.type,
            "TypeCode": self.type.code,
            "Name": self.type.name,
            "Tag": self.message.tag,
            "MessageID": self.message.id,
            "ServerID": SERVER_ID,
            "MessageStream": self.message.stream,
            "Description": self.type.description,
            "Details": f"smtp;550 5.1.1 {self.type.name} on request",
            "Email": self.address,
            "From": self.message.item["From"],
            "BouncedAt": eastern_text(self.at_ns),
            "DumpAvailable": True,
            "Inactive": self.inactive,
            "CanActivate": self.type is not SPAM_COMPLAINT,
            "Subject": self.message.subject,
        }


class Bounces:
    def __init__(self) -> None:
        self._by_id: dict[int, BounceRecord] = {}
        # Ids are never reused, not even after a reset.
        self._ids = count(FIRST_ID + 1)

    def add(self, kind: BounceType, message: Message, address: str) -> BounceRecord:
        bounce = BounceRecord(next(self._ids), kind, message, address, now_ns())
        self._by_id[bounce.id] = bounce
        return bounce

    def clear(self) -> None:
        self._by_id.clear()

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, key: str) -> BounceRecord:
        """Return the bounce with this id, or raise Postmark's error 1001."""
        found = self._by_id.get(int(key)) if key.isascii() and key.isdigit() else None
        if found is None:
            raise PostmarkError(1001, f"The bounce '{key}' was not found.")
        return found

    def activate(self, stream: str, address: str) -> None:
        """Reactivate every bounce of this address on this stream."""
        for bounce in self._newest_first():
            if bounce.message.stream == stream and bounce.address.lower() == address.lower():
                bounce.active_again = True

    def search(self, query: dict[str, str], from_ns: int, to_ns: int) -> list[BounceRecord]:
        """Return the bounces that match a query of `GET /bounces`, newest first."""
        kind, inactive = query.get("type"), query.get("inactive")
        invalid = "Bounces query is not valid:"
        if kind is not None and kind.lower() not in BOUNCE_TYPES:
            raise PostmarkError(1000, f"{invalid} 'type' '{kind}' is not known.")
        if inactive is not None and inactive.lower() not in ("true", "false"):
            raise PostmarkError(1000, f"{invalid} 'inactive' '{inactive}' is not true or false.")
        return [
            b
            for b in self._newest_first()
            if b.message.stream == query.get("messagestream", "outbound")
            and (kind is None or b.type.type.lower() == kind.lower())
            and (inactive is None or inactive.lower() == str(b.inactive).lower())
            and query.get("emailfilter", "").lower() in b.address.lower()
            and query.get("tag") in (None, b.message.tag)
            and query.get("messageid", b.message.id).lower() == b.message.id
            and from_ns <= b.at_ns <= to_ns
        ]

    def statistics(self) -> dict[str, Any]:
        """Return the figures of `GET /deliverystats`."""
        newest_first = self._newest_first()
        counts = Counter((b.type.type, b.type.name) for b in newest_first)
        rows: list[dict[str, Any]] = [{"Name": "All", "Count": len(self)}]
        rows += [{"Type": kind, "Name": name, "Count": n} for (kind, name), n in counts.items()]
        inactive = {b.address for b in newest_first if b.inactive}
        return {"InactiveMails": len(inactive), "Bounces": rows}

    def _newest_first(self) -> list[BounceRecord]:
        return list(self._by_id.values())[::-1]
