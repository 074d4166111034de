"""
Reads a stream's whole suppression list, as it came, an entry at a time.

Postmark does not page this list, and a first one may hold a million addresses: some hundred
megabytes, of which there are never more in memory than a piece. Whoever takes in what was read
before a fault has lost nothing, because each entry is a fact of its own; only the list's own end
says that there are no more.
Source: Postmark's API documentation, “Suppressions”.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import ijson  # type: ignore[import-untyped]  # it comes without types
import orjson

from delivery.postmark.provider_events import Suppressed, parse_event

PIECE_BYTES = 64 * 1024
# An entry holds words, no more; nothing legitimate comes near this.
DEEPEST = 100


class UnreadableDumpError(Exception):
    """What came is no suppression list, or not the whole of one."""


class Readable(Protocol):
    """What bytes can be read from; none are left when it returns none."""

    def read(self, size: int, /) -> bytes: ...


def iter_suppressions(dump: Readable, stream: str) -> Iterator[tuple[Suppressed, bytes]]:
    """
    What each entry says, and the event that would have told it; one that names no address is
    passed over.

    Raises `UnreadableError` where it cannot be read on.
    """
    try:
        for entry in ijson.items(_events(dump), "Suppressions.item"):
            told = _told(entry, stream)
            if told is not None:
                yield told
    # A number of thousands of digits is refused by Python, from within the library's C.
    except (ijson.JSONError, ValueError):
        raise UnreadableDumpError from None


def _events(dump: Readable) -> Iterator[tuple[str, str, Any]]:
    """What stands there, sign by sign, with its place; at the end it has to have been a list."""
    is_there = False
    for place, event, value in ijson.parse(_not_too_deep(dump)):
        is_there = is_there or (place, event) == ("Suppressions", "start_array")
        yield place, event, value
    if not is_there:
        raise UnreadableDumpError


def _not_too_deep(dump: Readable) -> Iterator[tuple[str, Any]]:
    """A place is as long as it is deep, and all of those that are open are in memory."""
    depth = 0
    for event, value in ijson.basic_parse(dump, buf_size=PIECE_BYTES, use_float=True):
        depth += event.startswith("start_") - event.startswith("end_")
        if depth > DEEPEST:
            raise UnreadableDumpError
        yield event, value


def _told(entry: object, stream: str) -> tuple[Suppressed, bytes] | None:
    if not isinstance(entry, dict):
        raise UnreadableDumpError
    event = {
        "RecordType": "SubscriptionChange",
        "MessageStream": stream,
        "Recipient": entry.get("EmailAddress"),
        "SuppressSending": True,
        "SuppressionReason": entry.get("SuppressionReason"),
        "Origin": entry.get("Origin"),
        "ChangedAt": entry.get("CreatedAt"),
    }
    fact = parse_event(event)
    if not isinstance(fact, Suppressed):
        return None
    return fact, orjson.dumps(event, option=orjson.OPT_SORT_KEYS)
