"""Readers as a CSV file, for the desk and for the command line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import datetime

from subscribers.importing.rejects_file import as_text
from subscribers.models import Subscriber

HEADER = ("email", "name", "state", "since", "signed_up", "confirmed", "unsubscribed", "came_by")


class _Line:
    """Takes what a CSV writer writes, and hands it on."""

    def write(self, line: str) -> str:
        return line


def lines_of(readers: Iterable[Subscriber]) -> Iterator[str]:
    """
    The header, and a line for each reader; times in UTC.

    No spreadsheet takes anything in it for a formula.
    """
    writer = csv.writer(_Line())
    yield writer.writerow(HEADER)
    for reader in readers:
        brought = reader.subscriber_import
        yield writer.writerow(
            (
                as_text(reader.email),
                as_text(reader.name),
                reader.state,
                _time(since(reader)),
                _time(reader.created_at),
                _time(reader.confirmed_at),
                _time(reader.unsubscribed_at),
                as_text(f"import {brought.filename}") if brought else "sign-up",
            )
        )


def since(reader: Subscriber) -> datetime:
    """Since when this reader has been in their state."""
    return reader.gone_at or reader.confirmed_at or reader.created_at


def _time(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""
