"""The whole suppression list is read entry by entry, and its end is checked."""

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.postmark.parse_events import UnreadableDumpError, iter_suppressions

STREAM = "broadcast"
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    # The parser treats integers outside of this range as garbled.
    | st.integers(1 - 2**63, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class Dripping:
    """Content that is read in pieces of `size` bytes."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content, self._size = BytesIO(content), size

    def read(self, size: int, /) -> bytes:
        return self._content.read(min(size, self._size))


def entry(number: int, **other: object) -> dict[str, object]:
    return {
        "EmailAddress": f"reader{number}@example.net",
        "SuppressionReason": "HardBounce",
        "Origin": "Recipient",
        "CreatedAt": "2026-04-01T08:58:33-04:00",
        **other,
    }


def read(content: bytes, size: int = 64 * 1024) -> list[str]:
    return [event.address for event, _ in iter_suppressions(Dripping(content, size), STREAM)]


def is_whole(content: bytes, size: int = 64 * 1024) -> bool:
    try:
        read(content, size)
    except UnreadableDumpError:
        return False
    return True


THREE = {"Suppressions": [entry(1), entry(2, EmailAddress="søren"), entry(3, More=["é", 1.5])]}


def test_a_suppression_entry_gives_address_reason_and_origin() -> None:
    dump = json.dumps({"Suppressions": [entry(1)]}).encode()
    [(event, body)] = iter_suppressions(BytesIO(dump), STREAM)
    assert (event.address, event.stream) == ("reader1@example.net", STREAM)
    assert (event.reason, event.origin) == ("HardBounce", "Recipient")
    assert json.loads(body) == {
        "RecordType": "SubscriptionChange",
        "MessageStream": STREAM,
        "Recipient": "reader1@example.net",
        "SuppressSending": True,
        "SuppressionReason": "HardBounce",
        "Origin": "Recipient",
        "ChangedAt": "2026-04-01T08:58:33-04:00",
    }


@pytest.mark.parametrize("indent", [None, 3])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_the_list_is_read_wherever_a_piece_ends(indent: int | None, *, ascii_only: bool) -> None:
    content = json.dumps(THREE, indent=indent, ensure_ascii=ascii_only).encode()
    for size in (1, 2, 3, 7, len(content)):
        assert read(content, size) == ["reader1@example.net", "reader3@example.net"]


def test_truncated_list_is_unreadable() -> None:
    content = json.dumps(THREE, ensure_ascii=False).encode()
    assert is_whole(content)
    assert not any(is_whole(content[:length]) for length in range(len(content)))
    assert not any(is_whole(content[:length], 1) for length in range(len(content)))


def test_entries_before_a_truncation_are_yielded() -> None:
    content = json.dumps(THREE).encode()
    entries = iter_suppressions(BytesIO(content[:-3]), STREAM)
    assert next(entries)[0].address == "reader1@example.net"
    with pytest.raises(UnreadableDumpError):
        next(entries)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"Suppressions": null}',
        b'{"Suppressions": [null]}',
        b'{"Suppressions": [{},]}',
        b'{"Suppressions": [{} {}]}',
        b'{"Suppressions": []} {}',
        b'{"Suppressions": [{"EmailAddress": "\xff"}]}',
        b'{"Suppressions": [{"EmailAddress": NaN}]}',
        b'{"Suppressions": [], "More": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"Suppressions": [{"EmailAddress": ' + b"9" * 10_000 + b"}]}",
    ],
)
@pytest.mark.parametrize("size", [1024, 64 * 1024])
def test_unexpected_answers_are_not_a_suppression_list(content: bytes, size: int) -> None:
    assert not is_whole(content, size)


@pytest.mark.parametrize(
    "content",
    [
        b'{"Suppressions": []}',
        b' {"Suppressions" : [ ] } \r\n',
        b'{"TotalCount": 12, "Suppressions": [], "More": {"a": [1]}}',
        b'{"Suppressions": [{}, {"EmailAddress": 12}, {"EmailAddress": ""}]}',
    ],
)
@pytest.mark.parametrize("size", [1, 64 * 1024])
def test_empty_list_and_extra_fields_are_valid(content: bytes, size: int) -> None:
    assert is_whole(content, size)
    assert read(content, size) == []


def _is_one_by_itself(value: Any) -> bool:
    entries = value.get("Suppressions") if isinstance(value, dict) else None
    return isinstance(entries, list) and all(isinstance(each, dict) for each in entries)


@given(
    value=JSON | st.fixed_dictionaries({"Suppressions": st.lists(JSON)}), size=st.integers(1, 40)
)
def test_any_input_is_a_list_or_an_error(value: Any, size: int) -> None:
    assert is_whole(json.dumps(value, allow_nan=False).encode(), size) == _is_one_by_itself(value)
