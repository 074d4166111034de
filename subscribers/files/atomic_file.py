"""Files that appear under their name only when they are complete."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO

from django.utils.translation import gettext


@contextmanager
def atomic_file(path: Path) -> Iterator[TextIO]:
    """Open a text file that replaces the file `path` at the end.

    Raises `OSError` if `path` is a folder.
    """
    with (
        atomic_binary_file(path) as file,
        TextIOWrapper(file, encoding="utf-8", newline="") as text,
    ):
        yield text


@contextmanager
def atomic_binary_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file that replaces the file `path` at the end.

    Raises `OSError` if `path` is a folder.
    """
    file = path.resolve()
    if file.is_dir():
        raise IsADirectoryError(None, gettext("it is a folder"))
    if file.exists() and not file.is_file():
        raise OSError(None, gettext("it is not a regular file"))
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:40]}-")
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as output:
            yield output
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
