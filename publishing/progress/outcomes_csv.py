"""What became of each reader's copy, as a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from delivery.models import Delivery
from delivery.reader_fields import FIELD_NAMES
from publishing.progress.outcome_sentences import address_of, why_of
from subscribers.files.safe_csv import csv_line

HEADER = (
    "reader",
    "address",
    *FIELD_NAMES,
    "outcome",
    "missed",
    "sent_at",
    "message_id",
    "evidence",
    "reason",
    "delivered_at",
    "bounced_at",
    "complained_at",
)


def lines_of(copies: Iterable[Delivery], *, held_until: datetime | None = None) -> Iterator[str]:
    """
    The header, and a line for each copy; times in UTC. `held_until` is when the hold of their
    edition ends, if that is held.
    """
    yield csv_line(*HEADER)
    for copy in copies:
        yield csv_line(
            copy.recipient_id,
            address_of(copy),
            *(getattr(copy, name) for name in FIELD_NAMES),
            copy.outcome,
            "yes" if copy.missed else "",
            _time(copy.sent_at),
            copy.provider_message_id or "",
            copy.evidence or "",
            "" if copy.outcome == "sent" else why_of(copy, _time, held_until=held_until),
            _time(copy.delivered_at),
            _time(copy.bounced_at),
            _time(copy.complained_at),
        )


def name_of(slug: str, version: int, outcome: str) -> str:
    """The name under which a browser saves it: the issue, the version and the list."""
    return f"{slug}-v{version}-{outcome}.csv"


def _time(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""
