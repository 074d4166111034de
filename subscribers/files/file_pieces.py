"""Store the files of tasks in the database, in pieces of at most a megabyte."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

from django.db import models, reset_queries

LONGEST_PIECE = 1024 * 1024  # bytes


class FilePiece(models.Model):
    """A piece of a file; each subclass adds a foreign key to its kind of task."""

    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        abstract = True


def store_pieces(file: IO[bytes], kind: type[FilePiece], **task: Any) -> bytes:
    """Store the file in pieces of this kind; return the SHA-256 of the file.

    `task` is the foreign key of each piece to its task, such as `subscriber_import=…`.
    """
    digest = hashlib.sha256()
    file.seek(0)
    for number, piece in enumerate(iter(lambda: file.read(LONGEST_PIECE), b"")):
        digest.update(piece)
        kind._default_manager.create(number=number, content=piece, **task)
        # In debug mode, Django would keep all queries, which contain the whole file.
        reset_queries()
    return digest.digest()


@contextmanager
def spooled(pieces: models.QuerySet[Any], prefix: str) -> Iterator[BinaryIO]:
    """Copy a stored file to a temporary file, piece by piece in constant memory."""
    with tempfile.TemporaryFile(prefix=prefix) as file:
        number = 0
        while piece := pieces.filter(number=number).values_list("content", flat=True).first():
            file.write(bytes(piece))
            number += 1
        file.seek(0)
        yield file
