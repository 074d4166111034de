"""Read a stream's suppression list entry by entry, because it may have 500 MB.

Postmark does not page it. Source: Postmark's API documentation, “Suppressions”.
"""

from collections.abc import Iterator
from typing import IO, Any

import ijson  # type: ignore[import-untyped]  # it comes without types
import orjson

from delivery.postmark.parse_events import AddressSuppressed, parse_event

PIECE_BYTES = 64 * 1024
# The largest nesting of an entry, far more than Postmark uses.
DEEPEST = 100


class UnreadableDumpError(Exception):
    """The answer is not a suppression list, or is incomplete."""


def iter_suppressions(dump: IO[bytes], stream: str) -> Iterator[tuple[AddressSuppressed, bytes]]:
    """Yield each entry that names an address, as an event and as its JSON.

    Raises `UnreadableDumpError`.
    """
    try:
        for entry in ijson.items(_events(dump), "Suppressions.item"):
            parsed = _parse_entry(entry, stream)
            if parsed is not None:
                yield parsed
    # Python refuses numbers with thousands of digits; the error comes from the library's C code.
    except (ijson.JSONError, ValueError):
        raise UnreadableDumpError from None


def _events(dump: IO[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Yield the parser's events; raise `UnreadableDumpError` if there was no list."""
    is_there = False
    for place, event, value in ijson.parse(_not_too_deep(dump)):
        is_there = is_there or (place, event) == ("Suppressions", "start_array")
        yield place, event, value
    if not is_there:
        raise UnreadableDumpError


def _not_too_deep(dump: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Limit the nesting, because every open element takes memory."""
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
