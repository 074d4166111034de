"""Split bytes into lines that end in CRLF, LF or CR; long lines are cut."""

import hashlib
import io
from collections.abc import Iterator
from typing import BinaryIO

from subscribers.importing.file_format.detect_encoding import MARK_UNDECODABLE, Encoding

LONGEST_LINE = 64 * 1024  # characters, with the line end; a line of a real list has 100 to 200
_PIECE = 64 * 1024  # bytes read at once
_CUT = LONGEST_LINE + 1


class HashingReader(io.RawIOBase):
    """A reader that hashes a file. Closing this reader leaves the file open."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._hash = hashlib.sha256()
        self.bytes_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        self._file.seek(self.bytes_read)
        piece = self._file.read(len(into))
        into[: len(piece)] = piece
        self._hash.update(piece)
        self.bytes_read += len(piece)
        return len(piece)

    def digest(self) -> bytes:
        return self._hash.digest()


def lines_of(file: HashingReader, encoding: Encoding) -> Iterator[str]:
    """Yield lines with line ends; cut long lines, and mark invalid bytes."""
    text = io.TextIOWrapper(
        io.BufferedReader(file, _PIECE),
        encoding=encoding.codec,
        errors=MARK_UNDECODABLE,
        newline="",  # do not change line ends
    )
    take = text.readline
    line = take(1 + _CUT).lstrip("\ufeff")  # some programs write the byte order mark twice
    between_cr_and_lf = False
    while line:
        if not (between_cr_and_lf and line == "\n"):
            yield line
        between_cr_and_lf = False
        if len(line) > LONGEST_LINE:
            piece = line
            while len(piece) > LONGEST_LINE and piece[-1] not in "\r\n":
                piece = take(_CUT)
            # The last piece of the long line may end between CR and LF.
            between_cr_and_lf = piece.endswith("\r")
        line = take(_CUT)


def line_end(line: str) -> str:
    """Name the line break that ends a line (CRLF, LF or CR); empty without one."""
    if line.endswith("\r\n"):
        return "CRLF"
    return {"\n": "LF", "\r": "CR"}.get(line[-1:], "")
