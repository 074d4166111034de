"""The only place for message streams: which there are, of which type, and how one is described."""

from dataclasses import dataclass
from typing import Any

from postmark_sandbox.http.response import Refused
from postmark_sandbox.times import eastern_text

SERVER_ID = 4711
TYPES = ("Transactional", "Broadcasts", "Inbound")
UNSUBSCRIBE_HANDLINGS = ("None", "Postmark", "Custom")


@dataclass(frozen=True, slots=True)
class Stream:
    """One message stream of the one server that the sandbox is."""

    id: str
    name: str
    type: str
    unsubscribe_handling: str
    created_ns: int

    def described(self) -> dict[str, Any]:
        """The stream as `GET /message-streams/{id}` shows it."""
        return {
            "ID": self.id,
            "ServerID": SERVER_ID,
            "Name": self.name,
            "Description": None,
            "MessageStreamType": self.type,
            "CreatedAt": eastern_text(self.created_ns),
            "UpdatedAt": None,
            "ArchivedAt": None,
            "ExpectedPurgeDate": None,
            "SubscriptionManagementConfiguration": {
                "UnsubscribeHandlingType": self.unsubscribe_handling
            },
        }


class Streams:
    """The streams of the server, by id."""

    def __init__(
        self, created_ns: int, unsubscribe_handling: str, more: dict[str, str] | None = None
    ) -> None:
        seeds = {"outbound": "Transactional", "broadcast": "Broadcasts", "inbound": "Inbound"}
        names = {"outbound": "Transactional", "broadcast": "Newsletter", "inbound": "Inbound"}
        self._by_id = {
            name: Stream(
                id=name,
                name=names.get(name, name),
                type=kind,
                unsubscribe_handling=unsubscribe_handling if kind == "Broadcasts" else "None",
                created_ns=created_ns,
            )
            for name, kind in (seeds | (more or {})).items()
        }

    def all(self, kind: str = "All") -> list[Stream]:
        """Every stream, or those of one type (compared without regard to case)."""
        wanted = kind.lower()
        return [s for s in self._by_id.values() if wanted in ("all", s.type.lower())]

    def get(self, name: str) -> Stream:
        """The stream, or Postmark's 1226."""
        found = self._by_id.get(name)
        if found is None:
            raise Refused(1226, "The message stream for the provided 'ID' was not found.")
        return found

    def to_send(self, name: str) -> Stream:
        """The stream if mail can be sent on it, else Postmark's 1235 or 1236."""
        found = self._by_id.get(name)
        if found is None:
            raise Refused(1235, f"The stream provided: '{name}' does not exist on this server.")
        if found.type == "Inbound":
            raise Refused(1236, f"The stream provided: '{name}' does not support sending.")
        return found

    def is_broadcast(self, name: str) -> bool:
        """Whether newsletters go out on this stream."""
        found = self._by_id.get(name)
        return found is not None and found.type == "Broadcasts"
