"""Searching the outbox: by Postmark's filters, and by a text."""

from collections.abc import Callable, Sequence

from postmark_sandbox.state.outbox import Outbox, StoredRequest


class Filters:
    """The filters of `GET /messages/outbound`. Dates are in nanoseconds and inclusive."""

    def __init__(self, query: dict[str, str], from_ns: int, to_ns: int) -> None:
        self._stream = query.get("messagestream") or "outbound"
        self._from_ns, self._to_ns = from_ns, to_ns
        self._recipient = query.get("recipient", "").lower()
        self._tag = query.get("tag", "")
        self._sender = query.get("fromemail", "").lower()
        self._subject = query.get("subject", "").lower()

    def select(self, stored: StoredRequest, numbers: Sequence[int]) -> Sequence[int]:
        """Those of the messages of a request that match."""
        if not self._from_ns <= stored.at_ns <= self._to_ns:
            return ()
        tests: list[tuple[str | list[str], Callable[[str], bool]]] = [
            (stored.stream, lambda value: value == self._stream),
            (stored.tag, lambda value: self._tag in ("", value)),
            (stored.sender, lambda value: self._sender in ("", value.lower())),
            (stored.subject, lambda value: self._subject in value.lower()),
        ]
        for column, test in tests:
            if isinstance(column, list):
                numbers = [n for n in numbers if test(column[n - stored.first])]
            elif not test(column):
                return ()
        if one := self._recipient:
            numbers = [n for n in numbers if one in map(str.lower, stored.all_recipients(n))]
        return numbers


class TextFilter:
    """Messages with a text in an address, the subject or the tag."""

    def __init__(self, text: str) -> None:
        self._wanted = text.strip().lower()

    def select(self, stored: StoredRequest, numbers: Sequence[int]) -> Sequence[int]:
        shared = [column for column in (stored.subject, stored.tag) if isinstance(column, str)]
        if self._is_in(shared):
            return numbers
        return [number for number in numbers if self._is_in(_texts(stored, number))]

    def _is_in(self, texts: list[str]) -> bool:
        return not self._wanted or any(self._wanted in text.lower() for text in texts)


def _texts(stored: StoredRequest, number: int) -> list[str]:
    subject, tag = stored.value(stored.subject, number), stored.value(stored.tag, number)
    return [*stored.all_recipients(number), subject, tag]


def find_page(
    outbox: Outbox, filters: Filters | TextFilter, offset: int, count: int
) -> tuple[int, list[int]]:
    """Count all matches, and return the numbers of one page of them, newest first."""
    total, picked = 0, list[int]()
    for stored in outbox.requests_newest_first():
        newest_first = range(stored.first + stored.size - 1, stored.first - 1, -1)
        numbers = filters.select(stored, newest_first)
        if total < offset + count and total + len(numbers) > offset:
            begin = max(offset - total, 0)
            picked.extend(numbers[begin : begin + count - len(picked)])
        total += len(numbers)
    return total, picked


def find_by_metadata(
    outbox: Outbox, filters: Filters, key: str, value: str, offset: int, count: int
) -> tuple[int, list[int]]:
    """The same as `find_page`, through the index of one metadata key."""
    found = outbox.with_metadata(key, value)
    numbers = [number for number in found if filters.select(outbox.request_of(number), [number])]
    return len(numbers), numbers[offset : offset + count]
