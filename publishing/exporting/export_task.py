"""Request complete exports, and write them in the background.

A worker writes an export under a lease. If the worker is killed, the export starts again, because a
compressed file cannot be continued.
"""

import io
import logging
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import IntegrityError, reset_queries, transaction
from django.db.models import Q
from django.db.models.functions import Now

from delivery.interface import short_transaction
from delivery.tasks.leased_task_columns import TaskState
from delivery.tasks.run_leased_task import ClaimedTask, run_next
from publishing.activity.record_issue_activity import record_task
from publishing.exporting.export_files import export_files, write_zip
from publishing.models import Export, ExportPiece
from subscribers.files.file_pieces import LONGEST_PIECE

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

logger = logging.getLogger(__name__)

KEPT = timedelta(days=7)


def request_export(by: uuid.UUID) -> tuple[Export, bool]:
    """Return the open export, or else a new export; also return whether it is new."""
    try:
        with transaction.atomic():
            export = Export.objects.create(requested_by_id=by)
            record_task("request_export", by, export)
            return export, True
    except IntegrityError:
        newest = newest_export()
        if newest is None:
            raise
        return newest, False


def newest_export() -> Export | None:
    """Load the newest export; None if no export was ever requested."""
    return Export.objects.select_related("requested_by").order_by("-pk").first()


def stored_pieces(export: Export) -> Iterator[bytes]:
    """Yield the ZIP file of a finished export in pieces, in constant memory."""
    pieces = ExportPiece.objects.filter(export=export).values_list("content", flat=True)
    for number in range(export.pieces):
        yield bytes(pieces.get(number=number))


def run_next_export(is_stopping: Callable[[], bool]) -> bool:
    """Claim and write the next due export; False if nothing is due."""
    return run_next(Export, _write, is_stopping)


def _write(running: ClaimedTask[Export]) -> None:
    with running.step():
        ExportPiece.objects.filter(export=running.task).delete()
    running.heartbeat(pieces=0, done=0, now_writing="")
    output = _PieceWriter(running)
    write_zip(output, export_files(), output.note)
    output.end()
    logger.info("export %d has %d bytes", running.task.pk, running.task.done)


def expire_exports() -> None:
    """Delete the files of old exports; keep their rows, and the newest export's files."""
    finished = Export.objects.filter(state=TaskState.FINISHED)
    newest = finished.order_by("-pk").values_list("pk", flat=True).first()
    old = finished.filter(~Q(pk=newest) | Q(finished_at__lt=Now() - KEPT))
    for export in list(old):
        with short_transaction():
            Export.objects.filter(pk=export.pk).update(state=TaskState.EXPIRED)
            ExportPiece.objects.filter(export=export).delete()


class _PieceWriter(io.RawIOBase):
    """A file that stores its content in pieces, and renews the lease with each piece."""

    def __init__(self, running: ClaimedTask[Export]) -> None:
        self._running = running
        self._buffer = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: "ReadableBuffer") -> int:
        before = len(self._buffer)
        self._buffer += content
        written = len(self._buffer) - before
        while len(self._buffer) >= LONGEST_PIECE:
            self._store(bytes(self._buffer[:LONGEST_PIECE]))
            del self._buffer[:LONGEST_PIECE]
        return written

    def note(self, path: str) -> None:
        """Show which file is being written, and renew the lease."""
        self._running.heartbeat(now_writing=path)

    def end(self) -> None:
        """Store the last piece and finish the export."""
        if self._buffer:
            self._store(bytes(self._buffer))
        self._running.end(TaskState.FINISHED)
        expire_exports()

    def _store(self, piece: bytes) -> None:
        export = self._running.task
        with self._running.step():
            self._running.heartbeat(pieces=export.pieces + 1, done=export.done + len(piece))
            ExportPiece.objects.create(export=export, number=export.pieces - 1, content=piece)
        # In debug mode Django remembers all queries, and so all bytes of the export. Make it forget
        # them.
        reset_queries()
