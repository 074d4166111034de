"""The bytes of a file that waits to be imported: kept in the database, in pieces."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from django.conf import settings
from django.db import connection, reset_queries

from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.models import ImportPiece
from subscribers.models.import_piece import LONGEST_PIECE

MEGABYTE = 1024 * 1024


def keep(import_id: int, file: BinaryIO, content_hash: bytes) -> None:
    """
    Keep the content of a file until its import has ended, in the caller's transaction.

    Raises `UnreadableFileError` if it is not the content that was announced.
    """
    digest = hashlib.sha256()
    file.seek(0)
    for number, piece in enumerate(iter(lambda: file.read(LONGEST_PIECE), b"")):
        digest.update(piece)
        ImportPiece.objects.create(subscriber_import_id=import_id, number=number, content=piece)
        reset_queries()  # in debug Django keeps them, and so the whole file
    if digest.digest() != content_hash:
        raise UnreadableFileError("The file changed while it was read; import it again.")


@contextmanager
def spooled(import_id: int) -> Iterator[BinaryIO]:
    """The content again, as a temporary file that stands at its beginning."""
    with tempfile.TemporaryFile(prefix="homing-import-") as file:
        number = 0
        while piece := _piece(import_id, number):
            file.write(piece)
            number += 1
        file.seek(0)
        yield file


def forget(import_id: int) -> None:
    """
    The import has ended, in the caller's transaction: its content is needed no more. Nor are the
    rows that were shown of it, which name people.
    """
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM import_piece WHERE subscriber_import_id = %s", [import_id])
        cursor.execute(
            """
            UPDATE subscriber_import
               SET read_as = read_as || '{"first_row": null, "with_accents": []}'
             WHERE id = %s AND read_as IS NOT NULL
            """,
            [import_id],
        )


def refuse_too_large(size: int) -> None:
    """Raises `UnreadableFileError` for a file of so many bytes that this site does not take it."""
    if size > most_bytes():
        raise UnreadableFileError(too_large())


def most_bytes() -> int:
    """How large a file may be."""
    return settings.IMPORT_MAX_MB * MEGABYTE


def too_large() -> str:
    """What is said of a file that is too large."""
    return (
        f"The file is larger than the {settings.IMPORT_MAX_MB} MB that IMPORT_MAX_MB allows; "
        "import it in parts."
    )


def _piece(import_id: int, number: int) -> bytes:
    """One at a time, so that memory stays the same however large the file is."""
    found = ImportPiece.objects.filter(subscriber_import_id=import_id, number=number)
    content = found.values_list("content", flat=True).first()
    return bytes(content) if content is not None else b""
