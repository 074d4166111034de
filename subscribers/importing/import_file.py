"""
One file from beginning to end, in one transaction: all of it is imported, or nothing.

That is why a file that turns out unreadable at its last line has changed nothing, why an import
that is killed can simply be started again, why its counts are exact, and why no issue can go out
to half a file. Its price is a transaction of some seconds; while it runs, a second import waits,
because two that met the same addresses in another order would block each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from django.db import connection, transaction
from django.db.models.functions import Now

from subscribers.importing.applying import Applying
from subscribers.importing.judging import Candidate, judge
from subscribers.importing.reading import ReaderFile
from subscribers.importing.report import Counts, ImportReport, LeftOut, Progress
from subscribers.models import LeftOutRow, SubscriberImport

CHUNK = 5_000  # rows
# Held to the end of the transaction, so that it also holds behind a connection pooler.
TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('homing: one import at a time', 0))"


def import_file(
    path: Path,
    *,
    confirmed: bool,
    dry_run: bool = False,
    on_left_out: Callable[[LeftOut], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> ImportReport:
    """
    Import the readers of a CSV file; with `dry_run` say what that would do and change nothing.

    `confirmed` is the importer's statement that these people gave their consent elsewhere; without
    it they are `pending`. `on_left_out` gets every row that is rejected or skipped, `on_progress`
    is told after each chunk. The same content again creates nothing and reports the first import.
    Raises `UnreadableFileError` with one sentence if the file cannot be imported; then nothing
    changed.
    """
    with ReaderFile(path) as file, transaction.atomic(), connection.cursor() as cursor:
        if not dry_run:
            cursor.execute(TAKE_TURN)
        earlier = SubscriberImport.objects.filter(content_hash=file.content_hash).first()
        if earlier is not None:
            return _report_again(earlier, on_left_out)
        record = None if dry_run else _begin(file, path.name, confirmed=confirmed)
        import_id = record.pk if record else None
        counts, skipped_because = Counts(), Counter[str]()
        with Applying(import_id, confirmed=confirmed) as applying:
            judged = map(judge, file.rows())
            while chunk := list(islice(judged, CHUNK)):
                rejected = [row for row in chunk if isinstance(row, LeftOut)]
                done, skipped = applying.add([row for row in chunk if isinstance(row, Candidate)])
                counts += done + Counts(rejected=len(rejected))
                skipped_because.update(row.reason for row in skipped)
                left_out = sorted(rejected + skipped, key=lambda row: row.line)
                applying.record(left_out)
                for row in left_out:
                    on_left_out(row)
                on_progress(Progress(counts.rows, file.bytes_read, file.size))
        if record:
            _end(record, counts)
        return ImportReport(import_id, record is not None, confirmed, counts, skipped_because)


def _begin(file: ReaderFile, name: str, *, confirmed: bool) -> SubscriberImport:
    return SubscriberImport.objects.create(
        content_hash=file.content_hash, filename=name[-255:], confirmed=confirmed
    )


def _end(record: SubscriberImport, counts: Counts) -> None:
    SubscriberImport.objects.filter(pk=record.pk).update(
        rows=counts.rows, **asdict(counts), finished_at=Now()
    )


def _report_again(
    earlier: SubscriberImport, on_left_out: Callable[[LeftOut], None]
) -> ImportReport:
    """What was reported when this content was imported."""
    skipped_because = Counter[str]()
    for row in _left_out_of(earlier):
        on_left_out(row)
        if not row.is_rejected:
            skipped_because[row.reason] += 1
    counts = Counts(
        added=earlier.added,
        known=earlier.known,
        duplicates=earlier.duplicates,
        skipped=earlier.skipped,
        rejected=earlier.rejected,
    )
    return ImportReport(earlier.pk, False, earlier.confirmed, counts, skipped_because)


def _left_out_of(record: SubscriberImport) -> Iterator[LeftOut]:
    """In the order of the file, some thousands at a time: there may be as many as rows."""
    last = 0
    while rows := list(
        LeftOutRow.objects.filter(subscriber_import=record, line__gt=last).order_by("line")[:CHUNK]
    ):
        for row in rows:
            yield LeftOut(row.line, row.result, row.email, row.reason)
        last = rows[-1].line
