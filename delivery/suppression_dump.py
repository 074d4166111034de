"""
Reads a stream's whole suppression list, as it came, an entry at a time.

Postmark does not page this list, and a first one may hold a million addresses: some hundred
megabytes, of which there are never more in memory than a piece. Whoever takes in what was read
before a fault has lost nothing, because each entry is a fact of its own; only the list's own end
says that there are no more.
Source: Postmark's API documentation, “Suppressions”.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

from delivery.told import Suppressed, fact_in

PIECE_BYTES = 64 * 1024
# An entry is some 130 characters; nothing legitimate comes near this.
LONGEST_VALUE = 64 * 1024


class UnreadableError(Exception):
    """What came is no suppression list, or not the whole of one."""


class Readable(Protocol):
    """What bytes can be read from; none are left when it returns none."""

    def read(self, size: int, /) -> bytes: ...


def entries_in(dump: Readable, stream: str) -> Iterator[tuple[Suppressed, bytes]]:
    """
    What each entry says, and the event that would have told it; one that names no address is
    passed over.

    Raises `UnreadableError` where it cannot be read on.
    """
    text = _Text(dump)
    text.take("{")
    is_there = False
    while True:
        name = text.value()
        text.take(":")
        if name == "Suppressions":
            is_there = True
            for entry in _elements(text):
                told = _told(entry, stream)
                if told is not None:
                    yield told
        else:
            text.value()
        if text.take(",", "}") == "}":
            break
    text.end()
    if not is_there:
        raise UnreadableError


def _elements(text: _Text) -> Iterator[Any]:
    """The values of an array, one by one."""
    text.take("[")
    if text.has("]"):
        return
    while True:
        yield text.value()
        if text.take(",", "]") == "]":
            return


def _told(entry: object, stream: str) -> tuple[Suppressed, bytes] | None:
    if not isinstance(entry, dict):
        raise UnreadableError
    event = {
        "RecordType": "SubscriptionChange",
        "MessageStream": stream,
        "Recipient": entry.get("EmailAddress"),
        "SuppressSending": True,
        "SuppressionReason": entry.get("SuppressionReason"),
        "Origin": entry.get("Origin"),
        "ChangedAt": entry.get("CreatedAt"),
    }
    fact = fact_in(event)
    if not isinstance(fact, Suppressed):
        return None
    return fact, orjson.dumps(event, option=orjson.OPT_SORT_KEYS)


class _Text:
    """JSON, read piece by piece, and the place in it."""

    def __init__(self, dump: Readable) -> None:
        self._dump = dump
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._scan = json.JSONDecoder().raw_decode
        self._read = ""
        self._place = 0

    def take(self, *wanted: str) -> str:
        """The next sign, which has to be one of these."""
        sign = self._sign()
        if sign not in wanted:
            raise UnreadableError
        self._place += 1
        return sign

    def has(self, wanted: str) -> bool:
        """Take the next sign if it is this one."""
        is_it = self._sign() == wanted
        self._place += is_it
        return is_it

    def value(self) -> Any:
        """The next value, whole."""
        self._sign()
        while True:
            try:
                _, end = self._scan(self._read, self._place)
                # A number that ends where the piece ends may go on in the next.
                if end < len(self._read) or not self._more():
                    value = orjson.loads(self._read[self._place : end])
                    self._place = end
                    return value
            except (ValueError, RecursionError):
                if len(self._read) - self._place > LONGEST_VALUE or not self._more():
                    raise UnreadableError from None

    def end(self) -> None:
        """See that nothing follows."""
        if self._sign():
            raise UnreadableError

    def _sign(self) -> str:
        """The next sign that is no space, or nothing at the end."""
        while True:
            while self._place < len(self._read) and self._read[self._place] in " \t\r\n":
                self._place += 1
            if self._place < len(self._read):
                return self._read[self._place]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read on; what lies before the place is kept no longer."""
        while True:
            piece = self._dump.read(PIECE_BYTES)
            try:
                text = self._decode(piece, final=not piece)
            except ValueError:
                raise UnreadableError from None
            if text or not piece:
                break
        self._read, self._place = self._read[self._place :] + text, 0
        return bool(text)
