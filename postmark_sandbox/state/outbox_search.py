"""Searching the outbox: by Postmark's filters, and by a text.

Both first ask a whole parcel, and look at its messages only if it does not decide for all of them.
"""

from collections.abc import Callable

from postmark_sandbox.state.outbox import Outbox, Parcel

Column = str | list[str]


class Filters:
    """The filters of `GET /messages/outbound`. Dates are in nanoseconds and inclusive."""

    def __init__(self, query: dict[str, str], from_ns: int | None, to_ns: int | None) -> None:
        self._stream = query.get("messagestream") or "outbound"
        self._from_ns, self._to_ns = from_ns, to_ns
        self._recipient = query.get("recipient", "").lower()
        self._tag = query.get("tag", "")
        self._sender = query.get("fromemail", "").lower()
        self._subject = query.get("subject", "").lower()

    def match_parcel(self, parcel: Parcel) -> bool | None:
        """True: every message of it; False: none; None: ask each message."""
        if (self._from_ns is not None and parcel.at_ns < self._from_ns) or (
            self._to_ns is not None and parcel.at_ns > self._to_ns
        ):
            return False
        first_ones = (address.lower() for address in parcel.recipients)
        if self._recipient and not parcel.more_recipients and self._recipient not in first_ones:
            return False
        tests = self._tests(parcel)
        if any(isinstance(column, str) and not test(column) for column, test in tests):
            return False
        shared = all(isinstance(column, str) for column, _ in tests)
        return True if shared and not self._recipient else None

    def match(self, parcel: Parcel, number: int) -> bool:
        if self.match_parcel(parcel) is False:
            return False
        recipients = (address.lower() for address in parcel.all_recipients(number))
        if self._recipient and self._recipient not in recipients:
            return False
        return all(test(parcel.value(column, number)) for column, test in self._tests(parcel))

    def _tests(self, parcel: Parcel) -> list[tuple[Column, Callable[[str], bool]]]:
        tests: list[tuple[Column, Callable[[str], bool]]] = [
            (parcel.stream, lambda value: value == self._stream)
        ]
        if self._tag:
            tests.append((parcel.tag, lambda value: value == self._tag))
        if self._sender:
            tests.append((parcel.sender, lambda value: value.lower() == self._sender))
        if self._subject:
            tests.append((parcel.subject, lambda value: self._subject in value.lower()))
        return tests


class TextFilter:
    """Messages with a text in an address, the subject or the tag."""

    def __init__(self, text: str) -> None:
        self._wanted = text.strip().lower()

    def match_parcel(self, parcel: Parcel) -> bool | None:
        shared = [column for column in (parcel.subject, parcel.tag) if isinstance(column, str)]
        if not self._wanted or self._is_in(shared):
            return True
        undecided = len(shared) < 2 or parcel.more_recipients or self._is_in(parcel.recipients)
        return None if undecided else False

    def match(self, parcel: Parcel, number: int) -> bool:
        subject, tag = parcel.value(parcel.subject, number), parcel.value(parcel.tag, number)
        return self._is_in([*parcel.all_recipients(number), subject, tag])

    def _is_in(self, texts: list[str]) -> bool:
        return any(self._wanted in text.lower() for text in texts)


def find_page(
    outbox: Outbox, filters: Filters | TextFilter, offset: int, count: int
) -> tuple[int, list[int]]:
    """Count all matches, and return the numbers of one page of them, newest first."""
    total, picked = 0, list[int]()
    for parcel in outbox.parcels_newest_first():
        whole = filters.match_parcel(parcel)
        if whole is False:
            continue
        numbers: range | list[int] = range(parcel.first + parcel.size - 1, parcel.first - 1, -1)
        if whole is None:
            numbers = [number for number in numbers if filters.match(parcel, number)]
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
    numbers = [number for number in found if filters.match(outbox.parcel_of(number), number)]
    return len(numbers), numbers[offset : offset + count]
