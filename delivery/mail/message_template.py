"""
A message as JSON, cut once at the places where readers differ.

Most of a message is the same for every reader of an edition: it is written as JSON once, and what
is left to do for each reader is to escape their own few words and put them in. The result is byte
for byte what writing the whole message would give. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from html import escape
from operator import itemgetter
from typing import Any

import orjson


class ValueMarkers:
    """
    Stand-ins for a reader's own values, while the message around them is written.

    Letters and digits, which JSON, HTML and headers leave as they are, and a word that none of the
    edition's `texts` holds.
    """

    def __init__(self, *texts: str) -> None:
        # 64 bits of a hash of all texts: one that holds them cannot be written on purpose.
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
        self._word = f"qz{digest[:16]}n"
        self._places: list[tuple[str, bool]] = []

    def of(self, name: str, *, in_html: bool = False) -> str:
        """What stands for the value `name`; in HTML it will be escaped for HTML as well."""
        place = (name, in_html)
        if place not in self._places:
            self._places.append(place)
        # With a letter after the number, or mark 1 were the beginning of mark 10.
        return f"{self._word}{self._places.index(place)}q"

    def cut(self, message: Mapping[str, Any]) -> MessageTemplate:
        """The message as JSON, cut at its marks."""
        pieces = re.split(rb"%b([0-9]+)q" % self._word.encode(), orjson.dumps(message))
        return MessageTemplate(pieces[0::2], [self._places[int(number)] for number in pieces[1::2]])


def _no_values(own: list[bytes]) -> tuple[()]:
    return ()


class MessageTemplate:
    """What all messages of an edition share, and whose value goes between which pieces."""

    def __init__(self, shared: list[bytes], places: list[tuple[str, bool]]) -> None:
        """`shared` are the pieces around `places`, one more; a place has a name and `in_html`."""
        self._form = b"%b".join(piece.replace(b"%", b"%%") for piece in shared)
        self._own = list(dict.fromkeys(places))
        order = [self._own.index(place) for place in places]
        # One value comes alone, several come as a tuple; `%` takes both.
        self._in_order: Callable[[list[bytes]], object] = (
            itemgetter(*order) if order else _no_values
        )

    def filled(self, values: Mapping[str, str]) -> bytes:
        """The message with these values in their places."""
        own = [
            orjson.dumps(escape(values[name]) if in_html else values[name])[1:-1]
            for name, in_html in self._own
        ]
        return self._form % self._in_order(own)
