"""The content of a file that waits for its import, in pieces in the database."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from django.conf import settings
from django.db import reset_queries

from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.models import ImportPiece
from subscribers.models.subscriber_import import LONGEST_PIECE

MEGABYTE = 1024 * 1024


def store(import_id: int, file: BinaryIO, content_hash: bytes) -> None:
    """Store the content. Raises `UnreadableFileError` if its hash differs."""
    digest = hashlib.sha256()
    file.seek(0)
    for number, piece in enumerate(iter(lambda: file.read(LONGEST_PIECE), b"")):
        digest.update(piece)
        ImportPiece.objects.create(subscriber_import_id=import_id, number=number, content=piece)
        reset_queries()  # Django keeps them in debug mode, and with them the whole file
    if digest.digest() != content_hash:
        raise UnreadableFileError("file_changed")


@contextmanager
def spooled(import_id: int) -> Iterator[BinaryIO]:
    """Copy the content to a temporary file, piece by piece in constant memory."""
    with tempfile.TemporaryFile(prefix="homing-import-") as file:
        pieces = ImportPiece.objects.filter(subscriber_import_id=import_id)
        number = 0
        while piece := pieces.filter(number=number).values_list("content", flat=True).first():
            file.write(bytes(piece))
            number += 1
        file.seek(0)
        yield file


def delete(import_id: int) -> None:
    """Delete the content, in the caller's transaction."""
    ImportPiece.objects.filter(subscriber_import_id=import_id).delete()


def largest_size() -> int:
    """Return the largest allowed size of a file, in bytes."""
    return settings.IMPORT_MAX_MB * MEGABYTE


def too_large() -> UnreadableFileError:
    """Make the error for a file that is too large."""
    return UnreadableFileError("file_too_large", limit_mb=settings.IMPORT_MAX_MB)
