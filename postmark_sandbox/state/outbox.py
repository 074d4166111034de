"""The only place where accepted messages are kept: every one, until the inbox is emptied.

Messages are numbered in the order of acceptance and stored by request, compressed once, as they
came; what has to be found quickly stands beside them in columns and indexes. The MessageID is the
number in UUID dress, so that no index of ids is needed.
"""

import threading
import zlib
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson

from postmark_sandbox.postmark_api.validation import Letter, metadata_text
from postmark_sandbox.times import now_ns

# One number, a run of numbers, or several of these: most values have one message or one batch.
Found = int | range | list[int | range]
UNPACKED_AT_ONCE = 8


@dataclass(slots=True)
class Parcel:
    """The accepted messages of one request. A column is one value if all messages share it.

    `body` is the compressed request; `positions` are the places of the accepted messages in it,
    None if all were. `reply` names the fault that kept the caller from learning of it."""

    first: int
    size: int
    at_ns: int
    body: bytes
    positions: "array[int] | None"
    recipients: list[str]
    stream: str | list[str]
    sender: str | list[str]
    subject: str | list[str]
    tag: str | list[str]
    edition: str | list[str]
    more_recipients: dict[int, list[str]] = field(default_factory=dict)
    reply: str = ""

    def value(self, column: str | list[str], number: int) -> str:
        """What a column holds for a message."""
        return column if isinstance(column, str) else column[number - self.first]

    def all_recipients(self, number: int) -> list[str]:
        """Whom the message went to, as typed."""
        place = number - self.first
        return self.more_recipients.get(place) or [self.recipients[place]]


@dataclass(slots=True)
class Message:
    """One accepted message, taken out of its parcel."""

    number: int
    id: str
    at_ns: int
    stream: str
    recipients: list[str]
    reply: str
    item: dict[str, Any]

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata as Postmark gives it back: strings."""
        return {k: metadata_text(v) for k, v in (self.item.get("Metadata") or {}).items()}


class Outbox:
    """
    All accepted messages. Safe to use from many threads.

    `goes_out_once` says of a stream that nobody gets two of one edition over it.
    """

    def __init__(self, goes_out_once: Callable[[str], bool]) -> None:
        self._goes_out_once = goes_out_once
        self.lock = threading.RLock()
        self._unpacked: OrderedDict[int, list[Any]] = OrderedDict()
        self.clear()

    def clear(self) -> None:
        """Forgets everything. MessageIDs given before are never given again."""
        with self.lock:
            self._prefix = str(uuid4())[:24]
            self._parcels: list[Parcel] = []
            self._firsts: list[int] = []
            self._by_metadata: dict[str, dict[str, Found]] = {}
            self._reached: dict[str, set[str]] = {}
            self._by_stream: dict[str, int] = {}
            self._twice: set[tuple[str, str]] = set()
            self._doubled: set[str] = set()
            self._with_delivery = 0
            self._untold = 0
            self._unpacked.clear()
            self.count = 0

    # --- taking in

    def accept(self, body: bytes, letters: list[Letter], positions: list[int] | None) -> Parcel:
        """Keeps the letters of one request; `body` is the request as it came, `positions` the
        places of these letters in it, None if it holds exactly these."""
        packed = zlib.compress(body, 1)
        deliveries = [
            metadata_text((letter.item.get("Metadata") or {}).get("delivery", ""))
            for letter in letters
        ]
        with self.lock:
            parcel = Parcel(
                first=self.count,
                size=len(letters),
                at_ns=now_ns(),
                body=packed,
                positions=None if positions is None else array("H", positions),
                recipients=[letter.recipients[0] for letter in letters],
                stream=_column([letter.stream for letter in letters]),
                sender=_column([letter.sender for letter in letters]),
                subject=_column([letter.item.get("Subject") or "" for letter in letters]),
                tag=_column([letter.item.get("Tag") or "" for letter in letters]),
                edition=_column([delivery.rpartition(".")[0] for delivery in deliveries]),
            )
            for number, letter in enumerate(letters, parcel.first):
                self._index(number, parcel, letter)
            self.count += parcel.size
            self._parcels.append(parcel)
            self._firsts.append(parcel.first)
        return parcel

    def _index(self, number: int, parcel: Parcel, letter: Letter) -> None:
        for key, value in (letter.item.get("Metadata") or {}).items():
            key = key.lower()
            value = value if type(value) is str else metadata_text(value)
            by_value = self._by_metadata.setdefault(key, {})
            if key == "delivery":
                self._with_delivery += 1
                if value in by_value:
                    self._doubled.add(value)
            _note(by_value, value, number)
        self._by_stream[letter.stream] = self._by_stream.get(letter.stream, 0) + 1
        if len(letter.recipients) > 1:
            parcel.more_recipients[number - parcel.first] = letter.recipients
        edition = parcel.value(parcel.edition, number)
        if edition and self._goes_out_once(letter.stream):
            reached = self._reached.setdefault(edition, set())
            for address in letter.recipients:
                folded = address.lower()
                if folded in reached:
                    self._twice.add((edition, folded))
                # Keeping the string that the column holds anyway halves what a reader costs.
                reached.add(address if folded == address else folded)

    def mark_untold(self, parcel: Parcel, fault: str) -> None:
        """Remembers that the caller did not properly learn of these messages."""
        with self.lock:
            parcel.reply = fault
            self._untold += parcel.size

    # --- taking out

    def id_of(self, number: int) -> str:
        """The MessageID of a message."""
        return f"{self._prefix}{number:012x}"

    def number_of(self, message_id: str) -> int | None:
        """The number of the message with this MessageID, None if there is none."""
        if len(message_id) != 36 or not message_id.lower().startswith(self._prefix):
            return None
        try:
            number = int(message_id[24:], 16)
        except ValueError:
            return None
        return number if 0 <= number < self.count else None

    def message(self, number: int) -> Message:
        """One message with its whole content."""
        with self.lock:
            parcel = self._parcel(number)
            items = self._unpacked.get(parcel.first)
            if items is None:
                read = orjson.loads(zlib.decompress(parcel.body))
                items = read if isinstance(read, list) else [read]
                self._unpacked[parcel.first] = items
                while len(self._unpacked) > UNPACKED_AT_ONCE:
                    self._unpacked.popitem(last=False)
            place = number - parcel.first
            return Message(
                number=number,
                id=self.id_of(number),
                at_ns=parcel.at_ns,
                stream=parcel.value(parcel.stream, number),
                recipients=parcel.all_recipients(number),
                reply=parcel.reply,
                item=items[place if parcel.positions is None else parcel.positions[place]],
            )

    def parcel_of(self, number: int) -> Parcel:
        """The parcel that a message came in."""
        with self.lock:
            return self._parcel(number)

    def _parcel(self, number: int) -> Parcel:
        return self._parcels[bisect_right(self._firsts, number) - 1]

    def with_metadata(self, key: str, value: str) -> list[int]:
        """The numbers of the messages that carry this metadata, newest first."""
        with self.lock:
            found = self._by_metadata.get(key.lower(), {}).get(value)
            return [] if found is None else sorted(_numbers(found), reverse=True)

    def parcels_newest_first(self) -> list[Parcel]:
        """Every parcel, the last one first."""
        with self.lock:
            return self._parcels[::-1]

    # --- counting

    def copies_of(self, delivery: str) -> int:
        """How many messages carry this delivery key."""
        with self.lock:
            return _size(self._by_metadata.get("delivery", {}).get(delivery))

    def copies(self, wanted: Callable[[int], bool]) -> dict[str, int]:
        """Delivery key to number of messages, for the numbers that are wanted."""
        with self.lock:
            return {
                delivery: size
                for delivery, found in self._by_metadata.get("delivery", {}).items()
                if wanted(size := _size(found))
            }

    def counts(self) -> dict[str, Any]:
        """The counts of the summary."""
        with self.lock:
            return {
                "accepted": self.count,
                "by_stream": dict(self._by_stream),
                "distinct_deliveries": len(self._by_metadata.get("delivery", {})),
                "deliveries_with_more_than_one_copy": len(self._doubled),
                "readers_with_two_of_one_edition": len(self._twice),
                "without_delivery_key": self.count - self._with_delivery,
                "accepted_without_telling": self._untold,
            }


def _column(values: list[str]) -> str | list[str]:
    first = values[0] if values else ""
    return first if values.count(first) == len(values) else values


def _note(by_value: dict[str, Found], value: str, number: int) -> None:
    found = by_value.get(value)
    if found is None:
        by_value[value] = number
    elif isinstance(found, list):
        joined = _joined(found[-1], number)
        if joined is None:
            found.append(number)
        else:
            found[-1] = joined
    else:
        by_value[value] = _joined(found, number) or [found, number]


def _joined(last: int | range, number: int) -> range | None:
    if isinstance(last, int):
        return range(last, number + 1) if number == last + 1 else None
    return range(last.start, number + 1) if number == last.stop else None


def _numbers(found: Found) -> Iterator[int]:
    for one in found if isinstance(found, list) else [found]:
        yield from one if isinstance(one, range) else (one,)


def _size(found: Found | None) -> int:
    if found is None or isinstance(found, int):
        return 0 if found is None else 1
    if isinstance(found, range):
        return len(found)
    return sum(1 if isinstance(one, int) else len(one) for one in found)
