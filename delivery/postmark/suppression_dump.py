"""Reads a stream's suppression list entry by entry: Postmark does not page it, and it may have some
hundred megabytes. Source: Postmark's API documentation, “Suppressions”."""

from collections.abc import Iterator
from typing import IO, Any

import ijson  # type: ignore[import-untyped]  # it comes without types
import orjson

from delivery.postmark.provider_events import AddressSuppressed, parse_event

PIECE_BYTES = 64 * 1024
# An entry holds words, no more; nothing legitimate comes near this.
DEEPEST = 100


class UnreadableDumpError(Exception):
    """What came is no suppression list, or not the whole of one."""


def iter_suppressions(dump: IO[bytes], stream: str) -> Iterator[tuple[AddressSuppressed, bytes]]:
    """Yield entries that name an address, with their events. Raises `UnreadableDumpError`."""
    try:
        for entry in ijson.items(_events(dump), "Suppressions.item"):
            parsed = _parse_entry(entry, stream)
            if parsed is not None:
                yield parsed
    # A number of thousands of digits is refused by Python, from within the library's C.
    except (ijson.JSONError, ValueError):
        raise UnreadableDumpError from None


def _events(dump: IO[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Yield the parser's events; raise `UnreadableDumpError` at the end if there was no list."""
    is_there = False
    for place, event, value in ijson.parse(_not_too_deep(dump)):
        is_there = is_there or (place, event) == ("Suppressions", "start_array")
        yield place, event, value
    if not is_there:
        raise UnreadableDumpError


def _not_too_deep(dump: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Limit the nesting, because the place of every open element is held in memory."""
    depth = 0
    for event, value in ijson.basic_parse(dump, buf_size=PIECE_BYTES, use_float=True):
        depth += event.startswith("start_") - event.startswith("end_")
        if depth > DEEPEST:
            raise UnreadableDumpError
        yield event, value


def _parse_entry(entry: object, stream: str) -> tuple[AddressSuppressed, bytes] | None:
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
    parsed = parse_event(event)
    if not isinstance(parsed, AddressSuppressed):
        return None
    return parsed, orjson.dumps(event, option=orjson.OPT_SORT_KEYS)
