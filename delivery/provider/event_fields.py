"""Check the fields of a provider's events. A wrong value is left out."""

from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from delivery.redact_addresses import read_text
from delivery.rules import delivery_key
from delivery.rules.delivery_key import DeliveryKey

MAX_ADDRESS_LENGTH = 254
MAX_DESCRIPTION_LENGTH = 500
MAX_KIND_LENGTH = 40
MAX_MESSAGE_ID_LENGTH = 100
MAX_TRACE_LENGTH = 100
MAX_WORD_LENGTH = 40
ISSUE_TAG = "issue-"


def parse_time(value: object) -> datetime | None:
    """Convert a time with a zone to UTC.

    Returns None for other texts, and for years before 2000 or after 2999.
    """
    at = parse_zoned_time(value)
    return at if at is None or at.tzinfo is UTC else at.astimezone(UTC)


def parse_zoned_time(value: object) -> datetime | None:
    """Read a time as `parse_time` does, but leave it in its zone."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    if at.tzinfo is None or not 2000 <= at.year < 3000:
        return None
    return at


def parse_message_id(value: object) -> str | None:
    """Return a provider's id that fits the tables; None for anything else."""
    if isinstance(value, str) and 0 < len(value) <= MAX_MESSAGE_ID_LENGTH and value.isprintable():
        return value
    return None


def parse_trace(value: object) -> str | None:
    """Return the id of an event's retries; None if it does not fit the table."""
    trace = value.strip() if isinstance(value, str) else ""
    fits = 0 < len(trace) <= MAX_TRACE_LENGTH and trace.isascii() and trace.isprintable()
    return trace if fits else None


def parse_address(value: object) -> str:
    """Return an address of printable ASCII around one @; empty for anything else."""
    if not isinstance(value, str):
        return ""
    address = value.strip()
    fits = len(address) <= MAX_ADDRESS_LENGTH and address.isascii() and address.isprintable()
    return address if fits and address.count("@") == 1 and " " not in address else ""


def parse_word(value: object) -> str:
    """Return a short text of printable characters, cut to its limit."""
    is_word = isinstance(value, str) and value.isprintable()
    return read_text(value, MAX_WORD_LENGTH, cut_mark="") if is_word else ""


def parse_uuid(value: object) -> UUID | None:
    """Return a UUID that is written in hexadecimal digits; None for anything else."""
    try:
        return UUID(hex=value) if isinstance(value, str) else None
    except ValueError:
        return None


def parse_key(value: object) -> DeliveryKey | None:
    """Return the key of a delivery, as a mail's metadata has it."""
    return delivery_key.read(value) if isinstance(value, str) else None


def find_issue(tags: Iterable[object]) -> UUID | None:
    """Return the issue that the first tag of an issue names."""
    issues = (tag for tag in tags if isinstance(tag, str) and tag.startswith(ISSUE_TAG))
    return parse_uuid(next(issues, "").removeprefix(ISSUE_TAG))
