"""Run imports under a lease, one chunk at a time.

The number of counted rows is the checkpoint. After a crash, the next process reads the file again
and skips the rows that were counted.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from django.db import connection, reset_queries
from django.db.models.functions import Now

from delivery import log_context
from delivery.interface import LOCK_ENQUEUE
from delivery.tasks.run_leased_task import ClaimedTask, TaskRefusedError, run_next, separate_task
from subscribers.fields.own_fields import load_fields_by_key
from subscribers.importing.accept_upload import delete_noted_rows, spooled_import
from subscribers.importing.apply_rows import apply_rows, note_gone, store_rejected_rows
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import ReaderFile, Row
from subscribers.importing.file_format.recognise_columns import own_fields_in
from subscribers.importing.file_format.split_records import BadRow
from subscribers.importing.file_format.validate_row import validate_row
from subscribers.importing.rejects_file import reading_of
from subscribers.importing.undo_import import run_undo
from subscribers.models import ImportSeenAddress, SubscriberImport
from subscribers.models.subscriber_import import NO_COUNTS

State = SubscriberImport.State

CHUNK = 5_000  # rows in a chunk
# This limits the memory of a chunk: one row may have cells with 65,000 characters of 4 bytes.
MOST_CHARACTERS_IN_CHUNK = 2_000_000

# Only one import at a time may apply a chunk, because two imports with the same addresses in a
# different order could deadlock.
ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('homing: one import at a time', 0))"
Running = ClaimedTask[SubscriberImport]


def run_next_import(
    is_stopping: Callable[[], bool] = lambda: False,
    on_progress: Callable[[SubscriberImport], None] = lambda _: None,
    *,
    pk: int | None = None,
) -> bool:
    """Claim and run the next due check, import or undo; False if nothing is due."""
    work = partial(_work, on_progress=on_progress)
    return run_next(SubscriberImport, work, is_stopping, pk=pk)


def _work(
    running: Running, on_progress: Callable[[SubscriberImport], None] = lambda _: None
) -> None:
    with log_context.scope():
        log_context.bind(**{"import": running.task.pk})
        (run_undo if running.task.state == State.UNDOING else _run)(running, on_progress)


def _costly(record: SubscriberImport) -> TaskRefusedError | None:
    # An undo is never refused as too costly, because it reads no file.
    return None if record.state == State.UNDOING else TaskRefusedError("import_too_costly")


IMPORTS = separate_task("imports", SubscriberImport, _work, _costly)


def running_import() -> int | None:
    """Return the id of a queued or running import; None if there is none."""
    running = SubscriberImport.objects.filter(state__in=(State.WAITING, State.RUNNING))
    return running.order_by("id").values_list("id", flat=True).first()


def _run(running: Running, on_progress: Callable[[SubscriberImport], None]) -> None:
    record = running.task
    is_check = record.state == State.CHECKING
    if record.rows == 0:
        # This run stores rejected rows and seen addresses, so delete those that an earlier check
        # stored.
        with running.step():
            running.hold()
            delete_noted_rows(record.pk)
    mapping = tuple((column, field) for column, field in record.mapping)
    fields = load_fields_by_key(own_fields_in(mapping))
    with (
        spooled_import(record.pk) as spool,
        ReaderFile(spool, record.filename, mapping, fields, lambda *_: reading_of(record)) as file,
    ):
        if file.import_hash != bytes(record.content_hash):
            raise UnreadableFileError("file_incomplete")
        if record.rows == 0 and file.has_statuses:
            _note_gone(running, file)
        rows = file.rows()
        _skip_to_checkpoint(rows, running)
        for chunk in chunks(rows):
            _apply_chunk(running, chunk, file)
            on_progress(record)
            running.heartbeat()
    _finish(running, file)
    if not is_check:
        # Update the planner's statistics. SKIP_LOCKED avoids waiting for other processes.
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE (SKIP_LOCKED) subscriber, suppression, consent_record")


def _note_gone(running: Running, file: ReaderFile) -> None:
    for chunk in chunks(file.rows()):
        running.heartbeat()
        with running.step():
            running.hold()
            note_gone(running.task, chunk, file.fields)
        reset_queries()


def chunks(rows: Iterable[Row | BadRow]) -> Iterator[list[Row | BadRow]]:
    """Split rows into chunks that fit into memory, without reading rows ahead."""
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


def _skip_to_checkpoint(rows: Iterator[Row | BadRow], running: Running) -> None:
    count = running.task.rows
    for done in range(0, count, CHUNK):
        running.heartbeat()
        for _ in islice(rows, min(CHUNK, count - done)):
            pass


def _apply_chunk(running: Running, chunk: list[Row | BadRow], file: ReaderFile) -> None:
    record = running.task
    validated = [validate_row(row, file.fields) for row in chunk]
    with running.step() as cursor:
        # Take this lock first. Without this lock, an address that is being erased at the same time
        # could be added again.
        cursor.execute(LOCK_ENQUEUE)
        running.hold()
        cursor.execute(ONE_AT_A_TIME)
        store_rejected_rows(record.pk, apply_rows(record, validated, file.fields))
        counts = {name: getattr(record, name) for name in (*NO_COUNTS, "made")}
        running.checkpoint(**{**counts, "done": file.bytes_read})
    reset_queries()  # in debug mode, Django keeps all queries in memory


def _finish(running: Running, file: ReaderFile) -> None:
    record = running.task
    read_as = record.read_as and {**record.read_as, "lost": file.lost.as_json()}
    if read_as and read_as.get("reading"):
        read_as["reading"] = {**read_as["reading"], "forms": file.forms}
    found = {"read_as": read_as, "done": record.total}
    with running.step():
        running.hold()
        ImportSeenAddress.objects.filter(subscriber_import=record.pk).delete()
        if record.state == State.CHECKING:
            running.end(State.CHECKED, **found, claims=0, checked_at=Now(), finished_at=None)
        else:
            running.end(State.FINISHED, **found, claims=0)
