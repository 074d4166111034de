"""
An import from its checkpoint to its end, a piece at a time, in the hands of one process.

Each piece is one transaction: the guard of the hold, then its rows, then the counts. Their sum is
the checkpoint: whoever goes on reads the file again from the start and leaves out as many rows.
Reading is the same every time, so wherever a process is lost, the rows and the counts at the end
are those of an import that nobody disturbed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice

from django.db import connection, reset_queries, transaction

from delivery import log_context
from delivery.interface import LOCK_ENQUEUE
from subscribers.importing import stored_file
from subscribers.importing.apply import Terms, apply, keep_left_out
from subscribers.importing.consent_statement import detail_of
from subscribers.importing.file_format.read_file import BadRow, ReaderFile, Row, UnreadableFileError
from subscribers.importing.file_format.validate_row import judge
from subscribers.importing.lease import MOST_SETBACKS, Hold, LostError, give_back, guard, keep
from subscribers.importing.report import Counts, Progress, counts_of
from subscribers.models import SubscriberImport

logger = logging.getLogger(__name__)

PIECE = 5_000  # rows

# Two that met the same addresses in another order would block each other: they take turns. Held to
# the end of the piece's transaction, so that it also holds behind a connection pooler.
TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('homing: one import at a time', 0))"


def run(
    hold: Hold,
    *,
    is_stopping: Callable[[], bool] = lambda: False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> None:
    """
    Go on with an import until it has ended, `is_stopping()`, or the hold is lost.

    A file that turns out to be none that can be imported is refused; that is an end too.
    """
    with log_context.scope():
        log_context.bind(**{"import": hold.import_id})
        _run_or_refuse(hold, is_stopping, on_progress)


def _run_or_refuse(
    hold: Hold, is_stopping: Callable[[], bool], on_progress: Callable[[Progress], None]
) -> None:
    try:
        try:
            if hold.setbacks > MOST_SETBACKS:
                raise UnreadableFileError(
                    f"It was begun {MOST_SETBACKS} times without coming further; the log says why."
                )
            _run(hold, is_stopping, on_progress)
        except UnreadableFileError as error:
            _refuse(hold, str(error))
    except LostError:
        logger.info("import %d is in other hands now", hold.import_id)


def _run(
    hold: Hold, is_stopping: Callable[[], bool], on_progress: Callable[[Progress], None]
) -> None:
    record = SubscriberImport.objects.select_related("imported_by").get(pk=hold.import_id)
    terms = Terms(record.pk, record.confirmed, detail_of(record), is_check=hold.is_check)
    if record.rows == 0:
        _begin(hold)
    mapping = tuple((column, field) for column, field in record.mapping)
    with (
        stored_file.spooled(record.pk) as spool,
        ReaderFile(spool, record.filename, mapping) as file,
    ):
        if file.import_hash != bytes(record.content_hash):
            raise UnreadableFileError("What was kept of the file is not all of it; bring it again.")
        rows = file.rows()
        _leave_out(rows, record.rows, hold)
        while piece := list(islice(rows, PIECE)):
            counts = _apply(hold, terms, piece, file.bytes_read)
            on_progress(Progress(counts.rows, file.bytes_read, file.size))
            if is_stopping():
                give_back(hold)
                return
    _end(hold)
    if not hold.is_check:
        _analyse()


def _begin(hold: Hold) -> None:
    """What an earlier check of the same file found is found anew."""
    with transaction.atomic(), connection.cursor() as cursor:
        guard(cursor, hold)
        cursor.execute("DELETE FROM left_out_row WHERE subscriber_import_id = %s", [hold.import_id])
        cursor.execute(
            "DELETE FROM import_address_seen WHERE subscriber_import_id = %s", [hold.import_id]
        )


def _leave_out(rows: Iterator[Row | BadRow], count: int, hold: Hold) -> None:
    """Read as far as the checkpoint."""
    for done in range(0, count, PIECE):
        keep(hold)
        for _ in islice(rows, min(PIECE, count - done)):
            pass


def _apply(hold: Hold, terms: Terms, piece: list[Row | BadRow], bytes_read: int) -> Counts:
    """One piece, and the checkpoint after it, or neither. The counts so far."""
    judged = [judge(row) for row in piece]
    with transaction.atomic(), connection.cursor() as cursor:
        # Before anything is locked: whoever is erased meanwhile would be added anew, or written
        # down once more.
        cursor.execute(LOCK_ENQUEUE)
        guard(cursor, hold)
        cursor.execute(TAKE_TURN)
        now, left_out, said = apply(terms, judged)
        keep_left_out(hold.import_id, left_out)
        before = SubscriberImport.objects.get(pk=hold.import_id)
        counts = counts_of(before) + now
        because = Counter(before.skipped_because)
        because.update(row.reason for row in left_out if not row.is_rejected)
        statuses = Counter(before.statuses) + said
        SubscriberImport.objects.filter(pk=hold.import_id).update(
            rows=counts.rows,
            **asdict(counts),
            skipped_because=dict(because),
            statuses=dict(statuses),
            bytes_read=bytes_read,
            setbacks=0,
        )
    # In debug Django keeps what was said to the database, and a piece says a lot.
    reset_queries()
    return counts


def _end(hold: Hold) -> None:
    """Nothing is left to do: what was kept for going on goes."""
    with transaction.atomic(), connection.cursor() as cursor:
        guard(cursor, hold)
        cursor.execute(
            "DELETE FROM import_address_seen WHERE subscriber_import_id = %s", [hold.import_id]
        )
        if not hold.is_check:
            stored_file.forget(hold.import_id)
        cursor.execute(
            """
            UPDATE subscriber_import
               SET state = %(state)s,
                   checked_at = CASE WHEN %(is_check)s THEN clock_timestamp() ELSE checked_at END,
                   finished_at = CASE WHEN %(is_check)s THEN NULL ELSE clock_timestamp() END,
                   owner = NULL, lease_until = NULL, bytes_read = size, setbacks = 0
             WHERE id = %(id)s
            """,
            {
                "state": "checked" if hold.is_check else "finished",
                "is_check": hold.is_check,
                "id": hold.import_id,
            },
        )


def _analyse() -> None:
    """
    Tell the planner how long the list is now; it locks nothing that a reader or worker waits for.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE (SKIP_LOCKED) subscriber, suppression, consent_record")


def _refuse(hold: Hold, why: str) -> None:
    """
    It ends here, with one sentence. Whoever was added by earlier pieces stays, and how far it came:
    the same content again goes on from there.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        guard(cursor, hold)
        stored_file.forget(hold.import_id)
        if hold.is_check:
            # What was only looked at is no checkpoint.
            SubscriberImport.objects.filter(pk=hold.import_id).update(
                rows=0, **asdict(Counts()), skipped_because={}, statuses={}
            )
        cursor.execute(
            """
            UPDATE subscriber_import
               SET state = 'refused', refusal = %s, finished_at = clock_timestamp(),
                   owner = NULL, lease_until = NULL
             WHERE id = %s
            """,
            [why, hold.import_id],
        )
