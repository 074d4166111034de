"""
Imports under a lease, one chunk at a time.

The counts are the checkpoint: the next process reads the file again and skips the counted rows.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, reset_queries, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from delivery import log_context
from delivery.interface import LOCK_ENQUEUE
from delivery.tasks.separate_process import SeparateTask
from subscribers.fields.own_fields import load_fields_by_key
from subscribers.importing import stored_file
from subscribers.importing.accept_upload import NO_COUNTS, NO_LEASE, delete_noted_rows
from subscribers.importing.apply import apply_rows, note_gone, store_rejected_rows
from subscribers.importing.file_format.columns import own_fields_in
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import ReaderFile, Row
from subscribers.importing.file_format.records import BadRow
from subscribers.importing.file_format.validate_row import validate_row
from subscribers.importing.lease import (
    MAX_STALLED_CLAIMS,
    Lease,
    LeaseLostError,
    claim_import,
    guard,
    is_claimable,
    lease_of,
    release,
)
from subscribers.importing.rejects_file import reading_of
from subscribers.importing.undo.undo_import import run_undo
from subscribers.models import ImportSeenAddress, SubscriberImport
from subscribers.models.subscriber_import import RUNNING
from subscribers.refusal_sentences import InputRefusal, refuse

logger = logging.getLogger(__name__)
State = SubscriberImport.State

CHUNK = 5_000  # rows
# A row may have cells of 65,000 characters, each of 4 bytes.
MOST_CHARACTERS_IN_CHUNK = 2_000_000

# Two imports with the same addresses in a different order would deadlock.
ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('homing: one import at a time', 0))"
STORE_FOUND = """
    UPDATE subscriber_import
       SET read_as = jsonb_set(read_as || %s::jsonb, '{reading,forms}', %s::jsonb)
     WHERE id = %s
"""


def run(
    lease: Lease,
    *,
    is_stopping: Callable[[], bool] = lambda: False,
    on_progress: Callable[[SubscriberImport], None] = lambda _: None,
) -> None:
    """Run an import or undo until it ends, `is_stopping()`, or the lease is lost."""
    with log_context.scope():
        log_context.bind(**{"import": lease.import_id})
        try:
            try:
                if lease.is_undo:
                    run_undo(lease, is_stopping, on_progress)
                elif lease.stalled_claims > MAX_STALLED_CLAIMS:
                    raise UnreadableFileError("import_stuck", times=MAX_STALLED_CLAIMS)
                else:
                    _run(lease, is_stopping, on_progress)
            except UnreadableFileError as error:
                _refuse(lease, error.refusal)
        except LeaseLostError:
            logger.info("import %d has another lease now, or its worker stops", lease.import_id)


def run_next_import(is_stopping: Callable[[], bool], owner: UUID | None = None) -> bool:
    """Claim and run the next due check, import or undo; False if nothing is due."""
    lease = claim_import(owner or uuid4())
    if lease is None:
        return False
    run(lease, is_stopping=is_stopping)
    return True


def refuse_costly(owner: UUID) -> None:
    """Refuse the file that this owner has claimed: it needs too much memory or time."""
    lease = lease_of(owner)
    # An undo reads no file.
    if lease is not None and not lease.is_undo:
        _refuse(lease, refuse("import_too_costly"))


IMPORTS = SeparateTask(
    "imports",
    lambda owner, is_stopping: run_next_import(is_stopping, owner),
    is_claimable,
    refuse_costly,
)


def waiting() -> QuerySet[SubscriberImport]:
    """Select the checks, imports and undos that wait for a worker."""
    return SubscriberImport.objects.filter(state__in=RUNNING)


def running_import() -> int | None:
    """Return the id of a queued or running import; None if there is none."""
    running = SubscriberImport.objects.filter(state__in=(State.WAITING, State.RUNNING))
    return running.order_by("id").values_list("id", flat=True).first()


def _run(
    lease: Lease, is_stopping: Callable[[], bool], on_progress: Callable[[SubscriberImport], None]
) -> None:
    record = SubscriberImport.objects.select_related("imported_by").get(pk=lease.import_id)
    if record.rows == 0:
        # This run notes its rows anew, so delete the notes of an earlier check.
        with transaction.atomic(), connection.cursor() as cursor:
            guard(cursor, lease)
            delete_noted_rows(lease.import_id)
    mapping = tuple((column, field) for column, field in record.mapping)
    fields = load_fields_by_key(own_fields_in(mapping))
    with (
        stored_file.spooled(record.pk) as spool,
        ReaderFile(spool, record.filename, mapping, fields, lambda *_: reading_of(record)) as file,
    ):
        if file.import_hash != bytes(record.content_hash):
            raise UnreadableFileError("file_incomplete")
        if record.rows == 0 and file.has_statuses:
            _note_gone(lease, record, file, is_stopping)
        rows = file.rows()
        _skip_to_checkpoint(rows, record.rows, lease, is_stopping)
        for chunk in chunks(rows):
            _apply_chunk(lease, record, chunk, file)
            on_progress(record)
            if is_stopping():
                release(lease)
                return
    _finish(lease, file)
    if not lease.is_check:
        # Update the planner's statistics. SKIP_LOCKED avoids waiting for other processes.
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE (SKIP_LOCKED) subscriber, suppression, consent_record")


def _note_gone(
    lease: Lease, record: SubscriberImport, file: ReaderFile, is_stopping: Callable[[], bool]
) -> None:
    for chunk in chunks(file.rows()):
        _stop_if(is_stopping, lease)
        with transaction.atomic(), connection.cursor() as cursor:
            guard(cursor, lease)
            note_gone(record, chunk, file.fields)
        reset_queries()


def chunks(rows: Iterable[Row | BadRow]) -> Iterator[list[Row | BadRow]]:
    """Split rows into chunks that fit into memory, and read no row ahead."""
    chunk: list[Row | BadRow] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        characters += sum(map(len, row.cells))
        if len(chunk) == CHUNK or characters > MOST_CHARACTERS_IN_CHUNK:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _stop_if(is_stopping: Callable[[], bool], lease: Lease) -> None:
    if is_stopping():
        release(lease)
        raise LeaseLostError


def _skip_to_checkpoint(
    rows: Iterator[Row | BadRow], count: int, lease: Lease, is_stopping: Callable[[], bool]
) -> None:
    for done in range(0, count, CHUNK):
        _stop_if(is_stopping, lease)
        with transaction.atomic(), connection.cursor() as cursor:
            guard(cursor, lease)
        for _ in islice(rows, min(CHUNK, count - done)):
            pass


def _apply_chunk(
    lease: Lease, record: SubscriberImport, chunk: list[Row | BadRow], file: ReaderFile
) -> None:
    validated = [validate_row(row, file.fields) for row in chunk]
    with transaction.atomic(), connection.cursor() as cursor:
        # Take this lock first. Otherwise a reader who is being erased could be added again.
        cursor.execute(LOCK_ENQUEUE)
        guard(cursor, lease)
        cursor.execute(ONE_AT_A_TIME)
        store_rejected_rows(record.pk, apply_rows(record, validated, file.fields))
        record.bytes_read, record.stalled_claims = file.bytes_read, 0
        record.save(update_fields=[*NO_COUNTS, "stalled_claims", "made"])
    reset_queries()  # Django keeps them in debug mode, and a chunk has long ones


def _finish(lease: Lease, file: ReaderFile) -> None:
    found = [json.dumps({"lost": file.lost.as_json()}), json.dumps(file.forms)]
    with transaction.atomic(), connection.cursor() as cursor:
        guard(cursor, lease)
        cursor.execute(STORE_FOUND, [*found, lease.import_id])
        ImportSeenAddress.objects.filter(subscriber_import=lease.import_id).delete()
        end: dict[str, Any] = {"state": State.CHECKED, "checked_at": Now()}
        if not lease.is_check:
            stored_file.delete(lease.import_id)
            end = {"state": State.FINISHED, "finished_at": Now()}
        imports = SubscriberImport.objects.filter(pk=lease.import_id)
        imports.update(**end, **NO_LEASE, bytes_read=F("size"))


def _refuse(lease: Lease, refusal: InputRefusal) -> None:
    # A refused check keeps no checkpoint.
    counts = {**NO_COUNTS, "bytes_read": F("bytes_read")} if lease.is_check else {}
    with transaction.atomic(), connection.cursor() as cursor:
        guard(cursor, lease)
        stored_file.delete(lease.import_id)
        counts |= {"state": State.REFUSED, "refusal": asdict(refusal), "finished_at": Now()}
        imports = SubscriberImport.objects.filter(pk=lease.import_id)
        imports.update(**counts, owner=None, lease_until=None)
