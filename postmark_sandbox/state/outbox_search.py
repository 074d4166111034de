"""Searching the outbox: by Postmark's filters, and by a text."""

from collections.abc import Callable, Sequence

from postmark_sandbox.state.outbox import Outbox, StoredMessage

Matches = Callable[[StoredMessage], bool]


def by_query(query: dict[str, str], from_ns: int, to_ns: int) -> Matches:
    """The filters of `GET /messages/outbound`. Dates are in nanoseconds and inclusive."""
    stream, tag = query.get("messagestream") or "outbound", query.get("tag", "")
    names = ("recipient", "fromemail", "subject")
    recipient, sender, subject = (query.get(name, "").lower() for name in names)
    return lambda message: (
        message.stream == stream
        and from_ns <= message.request.at_ns <= to_ns
        and tag in ("", message.tag)
        and sender in ("", message.sender.lower())
        and subject in message.subject.lower()
        and (not recipient or recipient in map(str.lower, message.recipients))
    )


def by_text(text: str) -> Matches:
    """Messages with a text in an address, the subject or the tag."""
    wanted = text.strip().lower()
    return lambda message: (
        not wanted
        or any(wanted in one.lower() for one in (*message.recipients, message.subject, message.tag))
    )


def find_page(
    outbox: Outbox, matches: Matches, offset: int, count: int, among: Sequence[int] | None = None
) -> tuple[int, list[int]]:
    """Count all matches, and return the numbers of one page of them, newest first."""
    messages = outbox.messages
    numbers = range(len(messages) - 1, -1, -1) if among is None else among
    found = [number for number in numbers if matches(messages[number])]
    return len(found), found[offset : offset + count]
