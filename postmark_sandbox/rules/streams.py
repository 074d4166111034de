"""Message streams: their types, and how Postmark describes one."""

from dataclasses import dataclass
from typing import Any

from postmark_sandbox.http import PostmarkError
from postmark_sandbox.times import eastern_text

SERVER_ID = 4711
TYPES = ("Transactional", "Broadcasts", "Inbound")
UNSUBSCRIBE_HANDLINGS = ("None", "Postmark", "Custom")
# The id of each stream, with its name and type.
DEFAULTS = {
    "outbound": ("Transactional", "Transactional"),
    "broadcast": ("Newsletter", "Broadcasts"),
    "inbound": ("Inbound", "Inbound"),
}


@dataclass(frozen=True, slots=True)
class Stream:
    id: str
    name: str
    type: str
    unsubscribe_handling: str
    created_ns: int

    def as_json(self) -> dict[str, Any]:
        """Return the stream as `GET /message-streams/{id}` shows it."""
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
    """The streams of the server. `more` are ids and types of additional streams."""

    def __init__(self, created_ns: int, broadcast_handling: str, more: dict[str, str]) -> None:
        self._by_id: dict[str, Stream] = {}
        for id_, (name, kind) in (DEFAULTS | {m: (m, kind) for m, kind in more.items()}).items():
            handling = broadcast_handling if kind == "Broadcasts" else "None"
            self._by_id[id_] = Stream(id_, name, kind, handling, created_ns)

    def all(self, kind: str = "All") -> list[Stream]:
        """Return every stream, or the streams of the type `kind`, in any letter case."""
        return [s for s in self._by_id.values() if kind.lower() in ("all", s.type.lower())]

    def get(self, name: str) -> Stream:
        """Return the stream, or raise Postmark's error 1226."""
        if name not in self._by_id:
            raise PostmarkError(1226, "The message stream for the provided 'ID' was not found.")
        return self._by_id[name]

    def to_send(self, name: str) -> Stream:
        """Return a stream that allows sending, or raise Postmark's error 1235 or 1236."""
        stream, stream_text = self._by_id.get(name), f"The stream provided: '{name}'"
        if stream is None:
            raise PostmarkError(1235, f"{stream_text} does not exist on this server.")
        if stream.type == "Inbound":
            raise PostmarkError(1236, f"{stream_text} does not support sending.")
        return stream

    def is_broadcast(self, name: str) -> bool:
        return name in self._by_id and self._by_id[name].type == "Broadcasts"
