"""The rejected rows of an import as a CSV file, for correction."""

from collections.abc import Iterator

from subscribers.files.safe_csv import csv_line
from subscribers.importing.import_sentences import reason_sentence
from subscribers.models import RejectedRow, SubscriberImport

HEADER = csv_line("line", "email", "reason")
AT_ONCE = 5_000  # rows


def iter_rejected_rows(record: SubscriberImport) -> Iterator[RejectedRow]:
    """Iterate over rejected and skipped rows in file order, loaded in chunks."""
    last = 0
    stored = RejectedRow.objects.filter(subscriber_import=record).order_by("line")
    while rows := list(stored.filter(line__gt=last)[:AT_ONCE]):
        yield from rows
        last = rows[-1].line


def reject_lines(record: SubscriberImport) -> Iterator[str]:
    """Write the header and a line for each rejected row."""
    yield HEADER
    for row in iter_rejected_rows(record):
        if row.result == RejectedRow.Result.REJECTED:
            yield reject_line(row)


def reject_line(row: RejectedRow) -> str:
    """Write one rejected row."""
    return csv_line(row.line, row.email, reason_sentence(row))
