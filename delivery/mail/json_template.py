"""A message as JSON, split once at the values that differ by reader. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from html import escape
from operator import itemgetter
from typing import Any

import orjson


class ValueMarkers:
    """Markers in place of a reader's values.

    JSON, HTML and headers leave their letters and digits unchanged, and none of the edition's
    `texts` contains them."""

    def __init__(self, *texts: str) -> None:
        # 64 bits of a hash of all texts, because nobody can write a text that contains its hash.
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
        self._word = f"qz{digest[:16]}n"
        self._slots: list[tuple[str, bool]] = []

    def of(self, name: str, *, in_html: bool = False) -> str:
        """Return the marker of a value. In HTML the value will be escaped."""
        slot = (name, in_html)
        if slot not in self._slots:
            self._slots.append(slot)
        # It ends in a letter, because marker 1 must not be the beginning of marker 10.
        return f"{self._word}{self._slots.index(slot)}q"

    def split(self, message: Mapping[str, Any]) -> JsonTemplate:
        """Write the message as JSON, split at its markers."""
        parts = re.split(rb"%b([0-9]+)q" % self._word.encode(), orjson.dumps(message))
        return JsonTemplate(parts[0::2], [self._slots[int(number)] for number in parts[1::2]])


class JsonTemplate:
    """The shared parts of an edition's messages, and the values between them."""

    def __init__(self, shared: list[bytes], slots: list[tuple[str, bool]]) -> None:
        """Store the parts in `shared`, which has one more item than `slots`.

        A slot is a name and `in_html`."""
        self._format = b"%b".join(part.replace(b"%", b"%%") for part in shared)
        self._own = list(dict.fromkeys(slots))
        order = [self._own.index(slot) for slot in slots]
        # `itemgetter` returns one value or a tuple, and `%` accepts both.
        self._in_order: Callable[[list[bytes]], object] = (
            itemgetter(*order) if order else lambda _: ()
        )

    def fill(self, values: Mapping[str, str]) -> bytes:
        """Fill in these values."""
        own = [
            orjson.dumps(escape(values[name]) if in_html else values[name])[1:-1]
            for name, in_html in self._own
        ]
        return self._format % self._in_order(own)
