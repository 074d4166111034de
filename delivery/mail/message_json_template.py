"""Messages as JSON, split once at the values that differ by reader."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from html import escape
from typing import Any, NamedTuple

import orjson

from delivery.mail.escape_field_value import Place, at_place

# This character separates a column's values while all of them are escaped together. Neither JSON
# nor HTML escapes DEL.
SEPARATOR = "\x7f"

# The key of a column: a member of an enum for a value of the program, a text for a merge field.
# Keys of the two kinds never compare equal, so a merge field cannot replace a value of the program.
Key = Enum | str


class Slot(NamedTuple):
    """The place of a value in a message. `key` names the value's column.

    `fallback` replaces an empty value and is not escaped for HTML.
    """

    key: Key
    in_html: bool = False
    fallback: str = ""
    place: Place = Place.TEXT

    def write(self, values: Sequence[str]) -> list[bytes]:
        """Write the values of a column as they appear inside a JSON string."""
        if self.place is not Place.TEXT:
            values = [at_place(value, self.place) for value in values]
        written = self._escape(SEPARATOR.join(values)).split(SEPARATOR.encode())
        if len(written) != len(values):
            # Some value contains the separator, so escape each value separately.
            written = [self._escape(value) for value in values]
        if self.fallback and b"" in written:
            fallback = orjson.dumps(self.fallback)[1:-1]
            written = [value or fallback for value in written]
        return written

    def _escape(self, text: str) -> bytes:
        return orjson.dumps(escape(text) if self.in_html else text)[1:-1]


class ValueMarkers:
    """Markers in place of a reader's values.

    Markers consist of letters and digits, which JSON, HTML and headers leave unchanged. None of the
    edition's `texts` contains a marker.
    """

    def __init__(self, *texts: str) -> None:
        # Use 64 bits of a hash of all texts, because nobody can write a text that contains its own
        # hash.
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
        self._word = f"qz{digest[:16]}n"
        self._slots: list[Slot] = []

    def of(
        self,
        key: Key,
        *,
        in_html: bool = False,
        fallback: str = "",
        place: Place = Place.TEXT,
    ) -> str:
        """Return the marker of a value, which will be escaped for its place."""
        slot = Slot(key, in_html, fallback, place)
        if slot not in self._slots:
            self._slots.append(slot)
        # A marker ends in a letter, because marker 1 must not be the beginning of marker 10.
        return f"{self._word}{self._slots.index(slot)}q"

    def split(self, message: Mapping[str, Any]) -> JsonTemplate:
        """Write the message as JSON, split at its markers."""
        parts = re.split(rb"%b([0-9]+)q" % self._word.encode(), orjson.dumps(message))
        return JsonTemplate(parts[0::2], [self._slots[int(number)] for number in parts[1::2]])


class JsonTemplate:
    """The shared parts of an edition's messages, with the slots between them."""

    def __init__(self, shared: Sequence[bytes], slots: Sequence[Slot]) -> None:
        """Store the parts in `shared`, which has one more item than `slots`."""
        self._shared = shared
        self._slots = slots

    def fill(self, columns: Mapping[Key, Sequence[str]], same: Mapping[Key, str]) -> bytes:
        """Write one message for each row of `columns`, as a JSON array.

        `same` holds values that are the same in all rows. The array may have 20 MB, so its parts
        are joined only once, at the end.
        """
        count = len(next(iter(columns.values())))
        if not count:
            return b"[]"
        shared, slots = [self._shared[0]], list[Slot]()
        for slot, part in zip(self._slots, self._shared[1:], strict=True):
            if slot.key in same:
                shared[-1] += slot.write([same[slot.key]])[0] + part
            else:
                slots.append(slot)
                shared.append(part)
        written = {slot: slot.write(columns[slot.key]) for slot in set(slots)}
        pieces = [b""] * (2 * len(slots) * count)
        pieces[:: 2 * len(slots)] = [shared[-1] + b"," + shared[0]] * count
        for place, slot in enumerate(slots):
            pieces[2 * place + 1 :: 2 * len(slots)] = written[slot]
            if place:
                pieces[2 * place :: 2 * len(slots)] = [shared[place]] * count
        pieces[0] = b"[" + shared[0]
        pieces.append(shared[-1] + b"]")
        return b"".join(pieces)
