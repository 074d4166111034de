"""Write an import's rejected rows as CSV, for authors to correct and import."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from subscribers.files.safe_csv import csv_line
from subscribers.importing.file_format.read_file import IN_FRONT
from subscribers.importing.file_format.recognise_columns import EMAIL, Mapping, Reading
from subscribers.importing.import_sentences import deleted_rows_sentence, reason_sentence
from subscribers.models import RejectedRow, SubscriberImport

AT_ONCE = 250  # rows in memory at the same time; a row may have 65,000 characters
# Use this reading for imports of earlier releases, which did not store how they read the file.
_ADDRESSES_ONLY = Reading((EMAIL,), 1, "", 0)


def iter_rejected_rows(record: SubscriberImport) -> Iterator[RejectedRow]:
    """Iterate over rejected and skipped rows in file order, loaded in chunks."""
    last = 0
    stored = RejectedRow.objects.filter(subscriber_import=record.pk).order_by("line")
    while rows := list(stored.filter(line__gt=last)[:AT_ONCE]):
        yield from rows
        last = rows[-1].line


def reject_lines(record: SubscriberImport) -> Iterator[str]:
    """Yield the header and the rejected rows, or say that the rows were deleted."""
    if are_rejects_deleted(record):
        yield csv_line(*IN_FRONT)
        yield csv_line("", deleted_rows_sentence(record))
        return
    yield reject_header(record)
    for row in iter_rejected_rows(record):
        if row.result == RejectedRow.Result.REJECTED:
            yield reject_line(record, row)


def are_rejects_deleted(record: SubscriberImport) -> bool:
    """Return whether an import's rejected rows were deleted because of their age."""
    if record.finished_at is None or not record.rejected:
        return False
    rejected = RejectedRow.objects.filter(result=RejectedRow.Result.REJECTED)
    return not rejected.filter(subscriber_import=record).exists()


def reject_header(record: SubscriberImport) -> str:
    """Return the header above rejected rows: our two columns, then the file's header."""
    return csv_line(*IN_FRONT, *_reading_or_old(record).header)


def reject_line(record: SubscriberImport, row: RejectedRow) -> str:
    """Return a line of CSV with one rejected row and its cells.

    If a row cannot be split, its text is put into the column of addresses. Because the text is no
    address, each import rejects the row until somebody corrects it.
    """
    cells = row.parameters.get("row", row.email)
    if isinstance(cells, str):
        cells = [*[""] * (_reading_or_old(record).address or 0), cells]
    return csv_line(row.line, reason_sentence(row), *cells)


def rejects_name(start: str, filename: str) -> str:
    """Return the name for the file of the rejected rows of `filename`."""
    stem = filename.rpartition(".")[0] or filename
    return " ".join((start, "from", f"{stem}.csv"))


def find_reading(
    header: Sequence[str], lines: Sequence[int], filename: str
) -> tuple[Reading, Mapping] | None:
    """Find how a file was read, by the header and line numbers of its rejected rows.

    If several imports match but their files were read differently, use the import of the file that
    `filename` names. Returns None if it stays unclear how the file was read.
    """
    imports = SubscriberImport.objects.filter(read_as__reading__header=list(header))
    found: dict[str, list[tuple[SubscriberImport, tuple[Reading, Mapping]]]] = {}
    for record in imports.order_by("id") if lines else ():
        rejected = RejectedRow.objects.filter(
            subscriber_import=record, result=RejectedRow.Result.REJECTED, line__in=lines
        )
        if rejected.count() == len(lines) and (read_as := reading_of(record)):
            reading = asdict(replace(read_as[0], forms=None))
            identity = json.dumps([reading, record.mapping], sort_keys=True)
            found.setdefault(identity, []).append((record, read_as))
    same_name = [
        some
        for some in found.values()
        if any(filename.endswith(rejects_name("", record.filename)) for record, _ in some)
    ]
    for choice in (list(found.values()), same_name):
        if len(choice) == 1:
            return choice[0][-1][1]
    return None


def reading_of(record: SubscriberImport) -> tuple[Reading, Mapping] | None:
    """Return how an import's file was read, and its mapping; None for old imports."""
    reading = Reading.from_json((record.read_as or {}).get("reading"))
    mapping = tuple((column, field) for column, field in record.mapping)
    return (reading, mapping) if reading else None


def _reading_or_old(record: SubscriberImport) -> Reading:
    found = reading_of(record)
    return found[0] if found else _ADDRESSES_ONLY
