"""The only place that answers what was sent: `GET /messages/outbound` and what is below it."""

from collections.abc import Callable
from typing import Any

from postmark_sandbox.http.response import Refused
from postmark_sandbox.pages.raw_mail import mailboxes, source
from postmark_sandbox.state.outbox import Message, Outbox, Parcel
from postmark_sandbox.times import eastern_text, read_eastern

MOST_AT_ONCE = 500
DEEPEST = 10_000
STATUSES = ("queued", "sent", "processed")


def paging(query: dict[str, str], code: int, what: str) -> tuple[int, int]:
    """`count` and `offset` of a query; both are required. Refused with the given ErrorCode."""
    pair = []
    for name, least in (("count", 1), ("offset", 0)):
        text = query.get(name, "")
        if not (text.isascii() and text.isdigit()) or int(text) < least:
            raise Refused(
                code,
                f"{what} query is not valid: '{name}' is required and must be a whole number of "
                f"at least {least}.",
            )
        pair.append(int(text))
    count, offset = pair
    if count > MOST_AT_ONCE:
        raise Refused(code, f"{what} query is not valid: 'count' is limited to {MOST_AT_ONCE}.")
    if count + offset > DEEPEST:
        raise Refused(
            code, f"{what} query is not valid: 'count' plus 'offset' is limited to {DEEPEST}."
        )
    return count, offset


def dates(query: dict[str, str], code: int, what: str) -> tuple[int | None, int | None]:
    """`fromdate` and `todate` in nanoseconds since 1970, both inclusive and in Eastern time."""
    found: list[int | None] = []
    for name in ("fromdate", "todate"):
        text = query.get(name)
        at_ns = read_eastern(text, end_of_day=name == "todate") if text else None
        if text and at_ns is None:
            raise Refused(code, f"{what} query is not valid: '{name}' '{text}' is not a date.")
        found.append(at_ns)
    return found[0], found[1]


def search(
    outbox: Outbox,
    query: dict[str, str],
    *,
    visible_until_ns: int | None = None,
) -> tuple[int, list[int]]:
    """How many messages match, and the numbers of those on the page asked for, newest first.

    `query` has its keys in lower case. `visible_until_ns`: messages accepted later are not yet in
    the index.
    """
    count, offset = paging(query, 700, "Messages")
    since, until = dates(query, 700, "Messages")
    if visible_until_ns is not None:
        until = visible_until_ns if until is None else min(until, visible_until_ns)
    status = query.get("status")
    if status is not None and status.lower() not in STATUSES:
        raise Refused(700, f"Messages query is not valid: 'status' '{status}' is not known.")
    by_metadata = [(k[9:], v) for k, v in query.items() if k.startswith("metadata_")]
    if len(by_metadata) > 1:
        raise Refused(
            700, "Messages query is not valid: only one metadata field can be searched at a time."
        )
    if status is not None and status.lower() == "queued":
        return 0, []
    filters = Filters(query, since, until)
    if by_metadata:
        numbers = [
            number
            for number in outbox.with_metadata(*by_metadata[0])
            if filters.take(outbox.parcel_of(number), number)
        ]
        return len(numbers), numbers[offset : offset + count]
    return page(outbox, filters.take_parcel, filters.take, offset, count)


class Filters:
    """The filters of one query over the columns of a parcel."""

    def __init__(self, query: dict[str, str], since: int | None, until: int | None) -> None:
        self._stream = query.get("messagestream") or "outbound"
        self._since, self._until = since, until
        self._recipient = query.get("recipient", "").lower()
        self._equal = {
            "tag": query.get("tag", ""),
            "sender": query.get("fromemail", "").lower(),
        }
        self._subject = query.get("subject", "").lower()

    def take_parcel(self, parcel: Parcel) -> bool | None:
        """True: every message of it; False: none; None: each must be asked."""
        if (self._since is not None and parcel.at_ns < self._since) or (
            self._until is not None and parcel.at_ns > self._until
        ):
            return False
        if self._recipient and not self._went_to(parcel):
            return False
        sure = not self._recipient
        for column, test in self._tests(parcel):
            if not isinstance(column, str):
                sure = False
            elif not test(column):
                return False
        return True if sure else None

    def _went_to(self, parcel: Parcel) -> bool:
        if parcel.more_recipients:
            return True
        return any(address.lower() == self._recipient for address in parcel.recipients)

    def take(self, parcel: Parcel, number: int) -> bool:
        """Whether this message of the parcel is asked for."""
        if self.take_parcel(parcel) is False:
            return False
        if self._recipient and self._recipient not in (
            r.lower() for r in parcel.all_recipients(number)
        ):
            return False
        return all(test(parcel.value(column, number)) for column, test in self._tests(parcel))

    def _tests(self, parcel: Parcel) -> list[tuple[str | list[str], Callable[[str], bool]]]:
        tests: list[tuple[str | list[str], Callable[[str], bool]]] = [
            (parcel.stream, lambda value: value == self._stream)
        ]
        if self._equal["tag"]:
            tests.append((parcel.tag, lambda value: value == self._equal["tag"]))
        if self._equal["sender"]:
            tests.append((parcel.sender, lambda value: value.lower() == self._equal["sender"]))
        if self._subject:
            tests.append((parcel.subject, lambda value: self._subject in value.lower()))
        return tests


def page(
    outbox: Outbox,
    take_parcel: Callable[[Parcel], bool | None],
    take: Callable[[Parcel, int], bool],
    offset: int,
    count: int,
) -> tuple[int, list[int]]:
    """Counts all that match and picks one page of them, newest first, without listing the rest."""
    total, picked = 0, list[int]()
    for parcel in outbox.parcels_newest_first():
        whole = take_parcel(parcel)
        if whole is False:
            continue
        numbers: range | list[int] = range(parcel.first + parcel.size - 1, parcel.first - 1, -1)
        if whole is None:
            numbers = [number for number in numbers if take(parcel, number)]
        if total < offset + count and total + len(numbers) > offset:
            begin = max(offset - total, 0)
            picked.extend(numbers[begin : begin + count - len(picked)])
        total += len(numbers)
    return total, picked


def described(message: Message) -> dict[str, Any]:
    """One message as the search lists it."""
    item = message.item
    return {
        "Tag": item.get("Tag") or "",
        "MessageID": message.id,
        "MessageStream": message.stream,
        **{
            field: [{"Email": box.address, "Name": box.name} for box in mailboxes(item, field)]
            for field in ("To", "Cc", "Bcc")
        },
        "Recipients": message.recipients,
        "ReceivedAt": eastern_text(message.at_ns),
        "From": item["From"],
        "Subject": item.get("Subject") or "",
        "Attachments": [a["Name"] for a in item.get("Attachments") or []],
        "Status": "Sent",
        "TrackOpens": bool(item.get("TrackOpens")),
        "TrackLinks": item.get("TrackLinks") or "None",
        "Metadata": message.metadata,
        "Sandboxed": True,
    }


def details(
    message: Message, events: list[dict[str, Any]], unsubscribe_url: str | None
) -> dict[str, Any]:
    """One message with its bodies, its source and what happened to it."""
    return {
        **described(message),
        "TextBody": message.item.get("TextBody") or "",
        "HtmlBody": message.item.get("HtmlBody") or "",
        "Body": source(message, unsubscribe_url),
        "MessageEvents": events,
    }
