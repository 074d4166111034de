"""Where a list is written that takes its name only when it is whole."""

from __future__ import annotations

from pathlib import Path


def file_to_write(path: Path) -> Path:
    """
    The file that `path` names, wherever links lead; it need not be there.

    Raises `OSError` if something else is there: nothing is put in the place of a folder, and what
    is put in that of a device or a pipe would be its end (`/dev/stdout` is a link to one).
    """
    file = path.resolve()
    if file.is_dir():
        raise IsADirectoryError(None, "it is a folder")
    if file.exists() and not file.is_file():
        raise OSError(None, "it is no ordinary file")
    return file
