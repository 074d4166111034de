"""
One file from beginning to end, in the foreground: for the command line, and for a dry run.

The import is the same as in the background, under the same lease: it is on record with all of the
file's content before the first row is taken, so that whoever is there goes on with it if this
process is lost.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from uuid import uuid4

from django.db import DatabaseError, reset_queries, transaction

from subscribers.importing import apply
from subscribers.importing.accept_upload import ENDED, Statement, brought_before, receive_to_import
from subscribers.importing.file_format.columns import Mapping
from subscribers.importing.file_format.read_file import ReaderFile, UnreadableFileError
from subscribers.importing.file_format.validate_row import LeftOut, judge
from subscribers.importing.lease import give_back, take
from subscribers.importing.report import Counts, ImportReport, Progress, counts_of, read_as
from subscribers.importing.run import PIECE, run
from subscribers.models import LeftOutRow, SubscriberImport

LOOK_EVERY_S = 0.2


def import_file(
    path: Path,
    *,
    confirmed: bool,
    where: str = "",
    mapping: Mapping = (),
    dry_run: bool = False,
    on_left_out: Callable[[LeftOut], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> ImportReport:
    """
    Import the readers of a CSV file; with `dry_run` say what that would do and change nothing.

    `confirmed` is the importer's statement that these people gave their consent elsewhere, `where`
    says where and how; without it they are `pending` and are sent a mail to confirm. `mapping`
    says by hand which column is what. `on_left_out`
    gets every row that is rejected or skipped, `on_progress` is told after each piece. The same
    content again creates nothing and reports the first import; one that was broken off goes on.
    Raises `UnreadableFileError` with one sentence if the file cannot be imported; then nothing
    changed.
    """
    with ReaderFile(path, called(path), mapping) as file:
        earlier = brought_before().filter(content_hash=file.import_hash).first()
        if dry_run and (earlier is None or earlier.state != SubscriberImport.State.FINISHED):
            return _dry_run(file, confirmed, on_left_out, on_progress)
        if earlier is not None and earlier.state == SubscriberImport.State.FINISHED:
            return _report_of(earlier, on_left_out, created=False)
        with path.open("rb") as content:
            record, begins = receive_to_import(
                file, content, called(path), Statement(confirmed=confirmed, where=where)
            )
    _see_it_through(record.pk, on_progress)
    record.refresh_from_db()
    if record.state == SubscriberImport.State.REFUSED:
        raise UnreadableFileError(record.refusal)
    return _report_of(record, on_left_out, created=begins, went_on=not begins)


def called(path: Path) -> str:
    """The file's name as a text. To the system it is bytes, and they may be no UTF-8."""
    return os.fsencode(path.name).decode(errors="replace")


def _see_it_through(import_id: int, on_progress: Callable[[Progress], None]) -> None:
    """Run the import, or watch somebody else run it, until it has ended."""
    me = uuid4()
    while True:
        record = SubscriberImport.objects.get(pk=import_id)
        if record.state in ENDED:
            return
        hold = take(me, import_id)
        if hold is None:
            on_progress(Progress(record.rows, record.bytes_read, record.size))
            time.sleep(LOOK_EVERY_S)
            continue
        try:
            run(hold, on_progress=on_progress)
        except BaseException:
            # Whoever goes on need not wait for the lease.
            with suppress(DatabaseError):
                give_back(hold)
            raise


def _dry_run(
    file: ReaderFile,
    confirmed: bool,
    on_left_out: Callable[[LeftOut], None],
    on_progress: Callable[[Progress], None],
) -> ImportReport:
    """The same steps, in one transaction that leaves nothing."""
    counts, because, statuses = Counts(), Counter[str](), Counter[str]()
    terms = apply.Terms(import_id=0, confirmed=confirmed, is_check=True)
    with transaction.atomic():
        apply.see_for_oneself()
        judged = map(judge, file.rows())
        while piece := list(islice(judged, PIECE)):
            now, left_out, said = apply.apply(terms, piece)
            counts += now
            statuses += said
            reset_queries()  # in debug Django keeps them
            because.update(row.reason for row in left_out if not row.is_rejected)
            for row in left_out:
                on_left_out(row)
            on_progress(Progress(counts.rows, file.bytes_read, file.size))
        apply.look_away()
    return ImportReport(
        None, False, confirmed, counts, because, read_as=file.description, statuses=statuses
    )


def _report_of(
    record: SubscriberImport,
    on_left_out: Callable[[LeftOut], None],
    *,
    created: bool,
    went_on: bool = False,
) -> ImportReport:
    """What stands on record of an import that has ended."""
    for row in left_out_of(record):
        on_left_out(row)
    return ImportReport(
        record.pk,
        created,
        record.confirmed,
        counts_of(record),
        Counter(record.skipped_because),
        went_on=went_on,
        read_as=read_as(record),
        statuses=record.statuses,
    )


def left_out_of(record: SubscriberImport) -> Iterator[LeftOut]:
    """In the order of the file, some thousands at a time: there may be as many as rows."""
    last = 0
    while rows := list(
        LeftOutRow.objects.filter(subscriber_import=record, line__gt=last).order_by("line")[:PIECE]
    ):
        for row in rows:
            yield LeftOut(row.line, row.result, row.email, row.reason)
        last = rows[-1].line
