"""The only place for bounces and complaints: what there was, and how it is shown."""

from dataclasses import dataclass, field
from typing import Any

from postmark_sandbox.events.magic_addresses import BOUNCE_TYPES, BounceType
from postmark_sandbox.http.response import Refused
from postmark_sandbox.state.streams import SERVER_ID
from postmark_sandbox.times import eastern_text

# Postmark's ids do not fit into 32 bits; neither do these.
FIRST_ID = 692_560_173_000_000_000


@dataclass(slots=True)
class Bounce:
    """Mail that came back, or that its reader complained about."""

    id: int
    type: BounceType
    message_id: str
    address: str
    sender: str
    stream: str
    tag: str
    subject: str
    metadata: dict[str, str]
    at_ns: int
    source: str = field(repr=False)
    active_again: bool = False

    def described(self) -> dict[str, Any]:
        """The bounce as `GET /bounces/{id}` shows it."""
        return {
            "RecordType": "SpamComplaint" if self.type.type == "SpamComplaint" else "Bounce",
            "ID": self.id,
            "Type": self.type.type,
            "TypeCode": self.type.code,
            "Name": self.type.name,
            "Tag": self.tag,
            "MessageID": self.message_id,
            "ServerID": SERVER_ID,
            "MessageStream": self.stream,
            "Description": self.type.description,
            "Details": f"smtp;550 5.1.1 {self.type.name} on request",
            "Email": self.address,
            "From": self.sender,
            "BouncedAt": eastern_text(self.at_ns),
            "DumpAvailable": True,
            "Inactive": self.type.inactive and not self.active_again,
            "CanActivate": self.type.can_activate,
            "Subject": self.subject,
        }


class Bounces:
    """Every bounce since the start, by id."""

    def __init__(self) -> None:
        self._by_id: dict[int, Bounce] = {}
        self._next = FIRST_ID

    def next_id(self) -> int:
        """A fresh id; ids are never given twice, not even after a reset."""
        self._next += 1
        return self._next

    def add(self, bounce: Bounce) -> None:
        """Keeps a bounce."""
        self._by_id[bounce.id] = bounce

    def clear(self) -> None:
        """Forgets all of them."""
        self._by_id.clear()

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, key: str) -> Bounce:
        """The bounce with this id, or Postmark's 1001."""
        found = self._by_id.get(int(key)) if key.isascii() and key.isdigit() else None
        if found is None:
            raise Refused(1001, f"The bounce '{key}' was not found.")
        return found

    def activate(self, stream: str, address: str) -> None:
        """The address may be mailed again on this stream: none of its bounces keeps it from it."""
        for bounce in self.newest_first():
            if bounce.stream == stream and bounce.address.lower() == address.lower():
                bounce.active_again = True

    def newest_first(self) -> list[Bounce]:
        """All of them, the last one first."""
        return list(self._by_id.values())[::-1]

    def search(self, query: dict[str, str], from_ns: int | None, to_ns: int | None) -> list[Bounce]:
        """The bounces that the query of `GET /bounces` asks for, newest first."""
        kind = query.get("type")
        if kind is not None and kind.lower() not in BOUNCE_TYPES:
            raise Refused(1000, f"Bounces query is not valid: 'type' '{kind}' is not known.")
        stream = query.get("messagestream", "outbound")
        part, tag, message = (query.get(k) for k in ("emailfilter", "tag", "messageid"))
        inactive = query.get("inactive")
        if inactive is not None and inactive.lower() not in ("true", "false"):
            raise Refused(
                1000, f"Bounces query is not valid: 'inactive' '{inactive}' is not true or false."
            )
        return [
            b
            for b in self.newest_first()
            if b.stream == stream
            and (kind is None or b.type.type.lower() == kind.lower())
            and (inactive is None or (inactive.lower() == "true") == b.described()["Inactive"])
            and (part is None or part.lower() in b.address.lower())
            and (tag is None or b.tag == tag)
            and (message is None or b.message_id == message.lower())
            and (from_ns is None or b.at_ns >= from_ns)
            and (to_ns is None or b.at_ns <= to_ns)
        ]

    def statistics(self) -> dict[str, Any]:
        """`GET /deliverystats`."""
        kinds: dict[str, list[Bounce]] = {}
        for bounce in self.newest_first():
            kinds.setdefault(bounce.type.type, []).append(bounce)
        rows: list[dict[str, Any]] = [{"Name": "All", "Count": len(self)}]
        rows += [
            {"Type": kind, "Name": found[0].type.name, "Count": len(found)}
            for kind, found in kinds.items()
        ]
        inactive = {
            b.address for b in self.newest_first() if b.type.inactive and not b.active_again
        }
        return {"InactiveMails": len(inactive), "Bounces": rows}
