"""The content of a file that waits for its import, in pieces in the database."""

from contextlib import AbstractContextManager
from typing import BinaryIO

from django.conf import settings

from subscribers.files.file_pieces import spooled, store_pieces
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.models import ImportPiece

MEGABYTE = 1024 * 1024


def store(import_id: int, file: BinaryIO, content_hash: bytes) -> None:
    """Store the content. Raises `UnreadableFileError` if the hash differs."""
    if store_pieces(file, ImportPiece, subscriber_import_id=import_id) != content_hash:
        raise UnreadableFileError("file_changed")


def spooled_import(import_id: int) -> AbstractContextManager[BinaryIO]:
    """Copy the content to a temporary file."""
    return spooled(ImportPiece.objects.filter(subscriber_import_id=import_id), "homing-import-")


def delete(import_id: int) -> None:
    """Delete the content, in the caller's transaction."""
    ImportPiece.objects.filter(subscriber_import_id=import_id).delete()


def largest_size() -> int:
    """Return the largest allowed size of a file, in bytes."""
    return settings.IMPORT_MAX_MB * MEGABYTE


def too_large() -> UnreadableFileError:
    """Make the error for a file that is too large."""
    return UnreadableFileError("file_too_large", limit_mb=settings.IMPORT_MAX_MB)
