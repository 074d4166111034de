"""Import a file in this process; after a crash, a worker continues the import."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, NamedTuple

from django.db import reset_queries, transaction

from subscribers.fields.own_fields import load_fields
from subscribers.importing.accept_upload import ENDED, Statement, existing_imports, store_for_import
from subscribers.importing.apply_rows import apply_rows, note_gone, seen_addresses_of_dry_run
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import ReaderFile
from subscribers.importing.file_format.recognise_columns import read_mapping
from subscribers.importing.file_format.validate_row import validate_row
from subscribers.importing.import_task import chunks, run_next_import
from subscribers.importing.rejects_file import find_reading, iter_rejected_rows
from subscribers.models import RejectedRow, SubscriberImport

State = SubscriberImport.State
LOOK_EVERY_S = 0.2
OnRejected = Callable[[SubscriberImport, RejectedRow], None]


class ImportReport(NamedTuple):
    """The result of an import or of a dry run. The report is not saved.

    `created` is False if the same content was imported before. `resumed` is True if this call
    completed an interrupted import.
    """

    record: SubscriberImport
    created: bool = False
    resumed: bool = False


def import_file(
    source: Path | BinaryIO,
    name: str = "",
    *,
    stated: Statement,
    mapping: Sequence[str] = (),
    dry_run: bool = False,
    on_rejected: OnRejected = lambda *_: None,
    on_progress: Callable[[SubscriberImport], None] = lambda _: None,
) -> ImportReport:
    """Import the readers of a CSV file; with `dry_run`, only report what would happen.

    `mapping` has options such as `Town=city`. Raises `UnreadableFileError`, without any change, if
    the file cannot be imported.
    """
    fields = load_fields()
    name = name or (file_name(source) if isinstance(source, Path) else "a file")
    with ReaderFile(source, name, read_mapping(mapping, fields), fields, find_reading) as file:
        earlier = existing_imports().filter(content_hash=file.import_hash).first()
        if earlier is not None and earlier.state == State.FINISHED:
            return _report_of(earlier, on_rejected)
        if earlier is not None and earlier.state == State.UNDOING and not dry_run:
            run_to_end(earlier.pk, lambda _: None)
        if dry_run:
            return _dry_run(file, stated, on_rejected, on_progress)
        with transaction.atomic():
            record, starts = store_for_import(file, file.content, name, stated.columns())
    run_to_end(record.pk, on_progress)
    record.refresh_from_db()
    if record.error is not None and record.state == State.REFUSED:
        raise UnreadableFileError(record.error["code"], **record.error["parameters"])
    return _report_of(record, on_rejected, created=starts, resumed=not starts)


def file_name(path: Path) -> str:
    """Return the file's name as text, also if its bytes are not valid UTF-8."""
    return os.fsencode(path.name).decode(errors="replace")


def run_to_end(import_id: int, on_progress: Callable[[SubscriberImport], None]) -> None:
    """Run an import or its undo in this process, or wait for the worker that runs it."""
    while True:
        record = SubscriberImport.objects.get(pk=import_id)
        if record.state in ENDED:
            return
        if not run_next_import(on_progress=on_progress, pk=import_id):
            on_progress(record)
            time.sleep(LOOK_EVERY_S)


def _dry_run(
    file: ReaderFile,
    stated: Statement,
    on_rejected: OnRejected,
    on_progress: Callable[[SubscriberImport], None],
) -> ImportReport:
    record = SubscriberImport(
        state=SubscriberImport.State.CHECKING,
        confirmed=stated.confirmed,
        list_is_confirmed=stated.list_is_confirmed,
        total=file.size,
        read_as=asdict(file.description),
    )
    with transaction.atomic(), seen_addresses_of_dry_run():
        for some in chunks(file.rows() if file.has_statuses else ()):
            note_gone(record, some, file.fields)
            reset_queries()
        for some in chunks(file.rows()):
            validated = [validate_row(row, file.fields) for row in some]
            for row in apply_rows(record, validated, file.fields):
                on_rejected(record, row)
            reset_queries()  # in debug mode, Django keeps all queries in memory
            record.done = file.bytes_read
            on_progress(record)
    record.read_as = {**asdict(file.description), "lost": file.lost.as_json()}
    return ImportReport(record)


def _report_of(record: SubscriberImport, on_rejected: OnRejected, **came_by: bool) -> ImportReport:
    for row in iter_rejected_rows(record):
        on_rejected(record, row)
    return ImportReport(record, **came_by)
