"""Detect the encoding of a file.

The whole file is read, because the first letter with an accent may be near the file's end.
"""

import codecs
from operator import itemgetter
from typing import NamedTuple

UNDECODABLE = "\udc80"  # marks invalid bytes; no file contains a lone surrogate
MARK_UNDECODABLE = "subscribers.mark_undecodable"  # name of the error handler
# Python puts this character in place of invalid bytes. A file may also contain this character
# itself.
_REPLACEMENT = "\ufffd"
_START = 64 * 1024  # this number of bytes at the start of a file is tested for UTF-16
_LEAST_ASCII = 10  # per cent of the characters; even a list with long Chinese names has 40 per cent
_NOT_IN_WINDOWS_1252 = b"\x81\x8d\x8f\x90\x9d"


class Encoding(NamedTuple):
    codec: str
    words: str


UTF_8 = Encoding("utf-8", "UTF-8")
WINDOWS_1252 = Encoding("cp1252", "Windows-1252")
UTF_16_LE = Encoding("utf-16-le", "UTF-16")
UTF_16_BE = Encoding("utf-16-be", "UTF-16")

_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, UTF_16_LE),
    (codecs.BOM_UTF16_BE, UTF_16_BE),
)


def _mark_undecodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNDECODABLE, error.end


codecs.register_error(MARK_UNDECODABLE, _mark_undecodable)


class EncodingDetector:
    """A detector that takes a file piece by piece and then names its encoding."""

    def __init__(self) -> None:
        self._settled: Encoding | None = None
        self._started = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._characters = 0  # number of valid UTF-8 characters outside ASCII
        self._broken = 0
        self.contradicts_windows_1252 = False  # true if a byte has no meaning in Windows-1252

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the file; the first should have several thousand bytes."""
        if not self._started:
            self._started = True
            marked = (encoding for mark, encoding in _MARKS if piece.startswith(mark))
            self._settled = next(marked, None) or _by_zeros(piece)
        if self._settled or piece.isascii():
            return
        self._count(self._decoder.decode(piece), piece.count(_REPLACEMENT.encode()))
        known = piece.translate(None, _NOT_IN_WINDOWS_1252)
        self.contradicts_windows_1252 |= len(known) < len(piece)

    def encoding(self) -> Encoding:
        if self._settled:
            return self._settled
        self._count(self._decoder.decode(b"", final=True), 0)
        return UTF_8 if self._characters >= self._broken else WINDOWS_1252

    def _count(self, text: str, meant: int) -> None:
        broken = text.count(_REPLACEMENT) - meant
        self._broken += broken
        self._characters += len(text) - len(text.encode("ascii", "ignore")) - broken


def _by_zeros(start: bytes) -> Encoding | None:
    """Return UTF-16 if enough pairs of bytes are ASCII characters in UTF-16.

    Choose the byte order that gives more @ signs, because in the wrong order some ideographs look
    like ASCII characters.
    """
    even, odd = start[0:_START:2], start[1:_START:2]
    found = []
    for characters, zeros, encoding in ((even, odd, UTF_16_LE), (odd, even, UTF_16_BE)):
        pairs = zip(characters, zeros, strict=False)
        plain = bytes(character for character, zero in pairs if character and not zero)
        found.append((plain.count(b"@"), len(plain), encoding))
    _, plain_characters, encoding = max(found, key=itemgetter(0, 1))
    return encoding if 100 * plain_characters > _LEAST_ASCII * len(odd) else None
