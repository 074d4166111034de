"""Exports in the background: one worker writes the archive under a lease.

A killed worker's export begins anew, because a compressed file cannot be continued."""

import io
import logging
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import IntegrityError, reset_queries, transaction
from django.db.models import Q
from django.db.models.functions import Now

from publishing.exporting.export_files import export_files
from publishing.exporting.write_zip import write_zip
from publishing.models import Export, ExportPiece
from publishing.task_lease import LeaseLostError, claim, end, release, renew

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

logger = logging.getLogger(__name__)

State = Export.State
LONGEST_PIECE = 1024 * 1024  # bytes
KEPT = timedelta(days=7)
MAX_CLAIMS = 20  # Each stop of a worker costs one.


def request_export(by: uuid.UUID) -> tuple[Export, bool]:
    """Request an export; return it or the one that is open, and whether it is new."""
    try:
        with transaction.atomic():
            return Export.objects.create(requested_by_id=by), True
    except IntegrityError:
        newest = newest_export()
        if newest is None:
            raise
        return newest, False


def newest_export() -> Export | None:
    """Load the newest export; None if there was none."""
    return Export.objects.select_related("requested_by").order_by("-pk").first()


def stored_pieces(export: Export) -> Iterator[bytes]:
    """Yield the archive of a finished export in constant memory."""
    pieces = ExportPiece.objects.filter(export=export).values_list("content", flat=True)
    for number in range(export.pieces):
        yield bytes(pieces.get(number=number))


def run_next_export(is_stopping: Callable[[], bool]) -> bool:
    """Claim and write the next due export; False if nothing is due."""
    export = claim(Export, pieces=0, size=0, now_writing="")
    if export is None:
        return False
    output = _PieceWriter(export, is_stopping)
    try:
        if export.epoch > MAX_CLAIMS:
            _end(export, State.FAILED)
            return True
        ExportPiece.objects.filter(export=export).delete()
        write_zip(output, export_files(), output.note)
        output.end()
        logger.info("export %d has %d bytes", export.pk, export.size)
    except LeaseLostError:
        logger.info("export %d has another lease now, or its worker stops", export.pk)
        release(export)
    return True


def expire_exports() -> None:
    """Delete archives that are old or have a successor; their rows stay."""
    finished = Export.objects.filter(state=State.FINISHED)
    newest = finished.order_by("-pk").values_list("pk", flat=True).first()
    old = finished.filter(~Q(pk=newest) | Q(finished_at__lt=Now() - KEPT))
    for export in list(old):
        with transaction.atomic():
            Export.objects.filter(pk=export.pk).update(state=State.EXPIRED)
            ExportPiece.objects.filter(export=export).delete()


def _end(export: Export, state: str) -> None:
    end(export, state, size=export.size, pieces=export.pieces)
    expire_exports()


class _PieceWriter(io.RawIOBase):
    """An output that stores what is written in pieces; each renews the lease."""

    def __init__(self, export: Export, is_stopping: Callable[[], bool]) -> None:
        self._export = export
        self._is_stopping = is_stopping
        self._buffer = bytearray()
        self._path = ""

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
        """Show progress and renew the lease, whether or not a piece is full."""
        self._path = path
        self._renew()

    def end(self) -> None:
        """Store the rest and finish the export."""
        if self._buffer:
            self._store(bytes(self._buffer))
        _end(self._export, State.FINISHED)

    def _store(self, piece: bytes) -> None:
        with transaction.atomic():
            self._export.pieces += 1
            self._export.size += len(piece)
            self._renew()
            ExportPiece.objects.create(
                export=self._export, number=self._export.pieces - 1, content=piece
            )
        reset_queries()  # Django keeps them in debug mode, and with them the whole archive.

    def _renew(self) -> None:
        if self._is_stopping():
            raise LeaseLostError
        export = self._export
        renew(export, now_writing=self._path, pieces=export.pieces, size=export.size)
