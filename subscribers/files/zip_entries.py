"""Read entries of an uploaded ZIP file within limits.

Entries are never written to the paths that the ZIP file names.
"""

import shutil
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from django.utils.translation import gettext as _

from delivery.humanise import digits

MOST_ENTRIES = 50_000
MOST_UNPACKED = 4 * 1024**3  # bytes of all entries together
_MOST_DIRECTORY = 16 * 1024**2  # bytes of the ZIP's central directory, which is read into memory
# These describe the end of a ZIP file: the end record (APPNOTE 4.3.16), the longest comment after
# this record, and the ZIP64 locator before this record.
_END, _END_MARK, _LONGEST_COMMENT = struct.Struct("<4s4H2LH"), b"PK\5\6", 0xFFFF
_LOCATOR_SIZE, _LOCATOR_MARK = 20, b"PK\6\7"
# The library raises these errors for a damaged ZIP file, and NotImplementedError for unknown
# versions and features.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, OSError, ValueError, NotImplementedError),
)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class UnusableZipError(Exception):
    """The error for a ZIP file that cannot be read within limits; `str()` says why."""


class ZipEntries:
    """The files in a ZIP, by path. Folders, dot files and `__MACOSX/` are left out."""

    def __init__(self, file: IO[bytes]) -> None:
        _check_directory(file)
        try:
            self._archive = zipfile.ZipFile(file)
        except _DAMAGED:
            raise _damaged() from None
        entries = self._archive.infolist()
        if len(entries) > MOST_ENTRIES or sum(one.file_size for one in entries) > MOST_UNPACKED:
            raise _too_large()
        self._entries = {one.filename: one for one in entries if _is_wanted(one)}
        self.paths = list(self._entries)
        names = Counter(one.filename for one in entries)
        self._repeated = {name for name, count in names.items() if count > 1}

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def find(self, end: str) -> str | None:
        """Return the shortest path that ends with `end`, in any folder, or None."""
        found = [path for path in self.paths if f"/{path}".endswith(f"/{end}")]
        return min(found, key=len, default=None)

    def read(self, path: str, most: int) -> bytes:
        """Return the content of an entry of at most `most` bytes."""
        with self.open(path, most) as content:
            return content.read()

    def copy(self, path: str, target: IO[bytes], most: int) -> None:
        """Copy the content of an entry of at most `most` bytes to a file, piece by piece."""
        with self.open(path, most) as content:
            shutil.copyfileobj(content, target)

    @contextmanager
    def open(self, path: str, most: int) -> Iterator[IO[bytes]]:
        """Open an entry of at most `most` bytes, to be read piece by piece."""
        entry = self._entries[path]
        if path in self._repeated:  # one of the two entries would be lost
            text = _("The ZIP file has more than one file with the name “{path}”. Pack it again.")
            raise UnusableZipError(text.format(path=path[-80:]))
        if entry.file_size > most:
            text = _("“{path}” in the ZIP file has {size} bytes; the limit is {most}.")
            raise UnusableZipError(
                text.format(path=path[-80:], size=digits(entry.file_size), most=digits(most))
            )
        if entry.flag_bits & 1 or entry.compress_type not in _METHODS:
            raise UnusableZipError(
                _("The ZIP file is encrypted or compressed in an unusual way. Pack it again.")
            )
        try:
            # The library never reads more bytes than the size that the entry states, so an entry
            # with a false size cannot exceed the limit.
            with self._archive.open(entry) as content:
                yield content
        except _DAMAGED:
            raise _damaged() from None


def _check_directory(file: IO[bytes]) -> None:
    """Refuse a ZIP file whose central directory is too large to read into memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - _LONGEST_COMMENT - _LOCATOR_SIZE))
    tail = file.read()
    at = tail.rfind(_END_MARK)
    file.seek(0)
    if at < 0 or len(tail) - at < _END.size:
        raise _damaged()
    _mark, _disk, _first, _here, entries, directory, _offset, _comment = _END.unpack_from(tail, at)
    has_locator = tail[max(0, at - _LOCATOR_SIZE) : at].startswith(_LOCATOR_MARK)
    if has_locator or entries > MOST_ENTRIES or directory > _MOST_DIRECTORY:
        raise _too_large()


def _is_wanted(entry: zipfile.ZipInfo) -> bool:
    *folders, name = entry.filename.split("/")
    return bool(name) and not name.startswith(".") and "__MACOSX" not in folders


def _too_large() -> UnusableZipError:
    sentence = _("The ZIP file has too many entries, or they are too large together.")
    return UnusableZipError(sentence)


def _damaged() -> UnusableZipError:
    return UnusableZipError(_("This ZIP file is damaged or incomplete. Export it again."))
