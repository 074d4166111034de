"""Store accepted messages until the inbox is emptied, and search them.

Messages are numbered in the order of acceptance. The content of messages is stored once per
request, compressed, outside the search index. The MessageID is the message's number in the form of
a UUID, so a search by MessageID needs no index.
"""

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from postmark_sandbox.rules.magic_addresses import is_black_hole
from postmark_sandbox.rules.validation import CheckedMessage, metadata_text
from postmark_sandbox.times import now_ns


@dataclass(slots=True)
class StoredRequest:
    """The accepted messages of one request, with the request's compressed `body`.

    `first` is the number of the first message. `unreported_by` is the fault that hid the acceptance
    from the caller.
    """

    first: int
    size: int
    at_ns: int
    body: bytes
    unreported_by: str = ""


class StoredMessage(NamedTuple):
    """The searchable part of a message, and its `position` in the request's body."""

    request: StoredRequest
    position: int
    recipients: list[str]
    stream: str
    sender: str
    subject: str
    tag: str


Matches = Callable[[StoredMessage], bool]


@dataclass(slots=True)
class Message:
    """Accepted message with its content."""

    number: int
    id: str
    at_ns: int
    stream: str
    recipients: list[str]
    unreported_by: str
    item: dict[str, Any]

    @property
    def tag(self) -> str:
        return self.item.get("Tag") or ""

    @property
    def subject(self) -> str:
        return self.item.get("Subject") or ""

    @property
    def metadata(self) -> dict[str, str]:
        return {k: metadata_text(v) for k, v in (self.item.get("Metadata") or {}).items()}

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Return the caller's own headers."""
        return [(h["Name"], h["Value"]) for h in self.item.get("Headers") or []]

    def header(self, name: str) -> str:
        """Return the first of the caller's headers with this name, or an empty string."""
        return next((v for found, v in self.headers if found.lower() == name.lower()), "")


class Outbox:
    """All accepted messages, shared by many threads."""

    def __init__(self, is_broadcast: Callable[[str], bool]) -> None:
        self._is_broadcast = is_broadcast
        self._lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        """Delete everything. Earlier MessageIDs are never reused."""
        with self._lock:
            self._prefix = str(uuid4())[:24]
            self.requests: list[StoredRequest] = []
            self.messages: list[StoredMessage] = []
            # For each metadata key and each of its values: the numbers of the messages with that
            # value.
            self._by_metadata: dict[str, dict[str, list[int]]] = {}
            self._reached: dict[str, set[str]] = {}
            self._by_stream: Counter[str] = Counter()
            self._readers_with_two: set[tuple[str, str]] = set()
            self._repeated_deliveries: set[str] = set()
            self._naming_delivery = 0
            self._unreported = 0
            self._dropped = 0

    @property
    def count(self) -> int:
        return len(self.messages)

    def accept(self, body: bytes, accepted: dict[int, CheckedMessage]) -> StoredRequest:
        """Store the accepted messages of a request, by their position in its body."""
        packed = zlib.compress(body, 1)
        with self._lock:
            stored = StoredRequest(self.count, len(accepted), now_ns(), packed)
            for position, message in accepted.items():
                self._index(self.count, message)
                subject, tag = (message.item.get(name) or "" for name in ("Subject", "Tag"))
                # All messages with the same text share one string, which halves the memory.
                texts = map(intern, (message.stream, message.sender, subject, tag))
                self.messages.append(StoredMessage(stored, position, message.recipients, *texts))
            self.requests.append(stored)
        return stored

    def _index(self, number: int, message: CheckedMessage) -> None:
        edition = ""
        for key, value in (message.item.get("Metadata") or {}).items():
            key = key.lower()
            value = metadata_text(value)
            numbers = self._by_metadata.setdefault(key, {}).setdefault(value, [])
            if key == "delivery":
                edition = value.rpartition(".")[0]
                self._naming_delivery += 1
                if numbers:
                    self._repeated_deliveries.add(value)
            numbers.append(number)
        if not edition and all(is_black_hole(each) for each in message.recipients):
            self._dropped += 1
            return
        self._by_stream[message.stream] += 1
        if edition and self._is_broadcast(message.stream):
            reached = self._reached.setdefault(edition, set())
            for address in message.recipients:
                folded = address.lower()
                if folded in reached:
                    self._readers_with_two.add((edition, folded))
                # Reuse the stored string if it is equal: this halves the memory per reader.
                reached.add(address if folded == address else folded)

    def mark_unreported(self, stored: StoredRequest, fault: str) -> None:
        """Record that a fault hid the acceptance of these messages from the caller."""
        with self._lock:
            stored.unreported_by = fault
            self._unreported += stored.size

    def id_of(self, number: int) -> str:
        return f"{self._prefix}{number:012x}"

    def number_of(self, message_id: str) -> int | None:
        if len(message_id) != 36 or not message_id.lower().startswith(self._prefix):
            return None
        try:
            number = int(message_id[24:], 16)
        except ValueError:
            return None
        return number if 0 <= number < self.count else None

    def find(self, message_id: str) -> Message | None:
        number = self.number_of(message_id)
        return None if number is None else self.message(number)

    def message(self, number: int) -> Message:
        """Return one message with its whole content."""
        stored = self.messages[number]
        request = stored.request
        return Message(
            number=number,
            id=self.id_of(number),
            at_ns=request.at_ns,
            stream=stored.stream,
            recipients=stored.recipients,
            unreported_by=request.unreported_by,
            item=_unpacked(request.body)[stored.position],
        )

    def with_metadata(self, key: str, value: str) -> list[int]:
        """Return the numbers of messages with this metadata, newest first."""
        with self._lock:
            return self._by_metadata.get(key.lower(), {}).get(value, [])[::-1]

    def find_page(
        self, matches: Matches, offset: int, count: int, among: Sequence[int] | None = None
    ) -> tuple[int, list[int]]:
        """Return the count of all matches, and the ids of one page, newest first."""
        numbers = range(self.count - 1, -1, -1) if among is None else among
        found = [number for number in numbers if matches(self.messages[number])]
        return len(found), found[offset : offset + count]

    def copies(self, wanted: Callable[[int], bool]) -> dict[str, int]:
        """Count the messages of each delivery key; return only the `wanted` counts."""
        with self._lock:
            deliveries = self._by_metadata.get("delivery", {})
            return {key: len(found) for key, found in deliveries.items() if wanted(len(found))}

    def counts(self) -> dict[str, Any]:
        """Return the counts that the summary shows."""
        with self._lock:
            return {
                "accepted": self.count - self._dropped,
                "dropped": self._dropped,
                "by_stream": dict(self._by_stream),
                "distinct_deliveries": len(self._by_metadata.get("delivery", {})),
                "deliveries_with_more_than_one_copy": len(self._repeated_deliveries),
                "readers_with_two_of_one_edition": len(self._readers_with_two),
                "without_delivery_key": self.count - self._naming_delivery - self._dropped,
                "accepted_without_telling": self._unreported,
            }


def by_query(query: dict[str, str], from_ns: int, to_ns: int) -> Matches:
    """Build the filters of `GET /messages/outbound`.

    Dates are in nanoseconds and inclusive.
    """
    stream, tag = query.get("messagestream") or "outbound", query.get("tag", "")
    names = ("recipient", "fromemail", "subject")
    recipient, sender, subject = (query.get(name, "").lower() for name in names)
    return lambda message: (
        message.stream == stream
        and from_ns <= message.request.at_ns <= to_ns
        and tag in ("", message.tag)
        and sender in ("", message.sender.lower())
        and subject in message.subject.lower()
        and (not recipient or recipient in map(str.lower, message.recipients))
    )


def by_text(text: str) -> Matches:
    """Build a filter for messages with a text in an address, the subject or the tag."""
    wanted = text.strip().lower()
    return lambda message: (
        not wanted
        or any(wanted in one.lower() for one in (*message.recipients, message.subject, message.tag))
    )


@lru_cache(maxsize=8)
def _unpacked(body: bytes) -> list[Any]:
    read = orjson.loads(zlib.decompress(body))
    return read if isinstance(read, list) else [read]
