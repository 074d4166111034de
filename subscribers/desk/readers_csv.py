"""Write readers as a CSV file, for the desk and the command line."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from delivery.reader_fields import FIELD_NAMES
from subscribers.files.safe_csv import csv_line
from subscribers.models import Subscriber

HEADER = ("email", *FIELD_NAMES, "state", "since", "signed_up", "confirmed", "unsubscribed")


def csv_lines(readers: Iterable[Subscriber]) -> Iterator[str]:
    """Write the header and a line for each reader; times in UTC."""
    yield csv_line(*HEADER, "came_by")
    for reader in readers:
        yield csv_line(
            reader.email,
            *reader.values_of_fields.values(),
            reader.state,
            _time(reader.since),
            _time(reader.created_at),
            _time(reader.confirmed_at),
            _time(reader.unsubscribed_at),
            source_label(reader),
        )


def source_label(reader: Subscriber) -> str:
    """Return the source for files and programs: a word, or import and its file."""
    if reader.subscriber_import:
        return f"import {reader.subscriber_import.filename}"
    return "API" if reader.source == Subscriber.Source.API else reader.source


def _time(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""
