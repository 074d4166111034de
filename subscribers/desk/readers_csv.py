"""Readers as a CSV file, for the desk and for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from subscribers.files.safe_csv import csv_line
from subscribers.models import Subscriber

HEADER = ("email", "name", "state", "since", "signed_up", "confirmed", "unsubscribed", "came_by")


def lines_of(readers: Iterable[Subscriber]) -> Iterator[str]:
    """The header, and a line for each reader; times in UTC."""
    yield csv_line(*HEADER)
    for reader in readers:
        yield csv_line(
            reader.email,
            reader.name,
            reader.state,
            _time(reader.since),
            _time(reader.created_at),
            _time(reader.confirmed_at),
            _time(reader.unsubscribed_at),
            came_by(reader),
        )


def came_by(reader: Subscriber) -> str:
    """By which way they came onto the list, in a few words."""
    if brought := reader.subscriber_import:
        return f"import {brought.filename}"
    return "API" if reader.source == Subscriber.Source.API else "sign-up"


def _time(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""
