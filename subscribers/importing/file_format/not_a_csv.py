"""Refuse empty files, and files whose first bytes show that they are not CSV."""

from delivery.tasks.run_leased_task import TaskRefusedError
from subscribers.refusal_sentences import InputRefusal, sentence_of

# The first bytes and the code of each format; refusal_sentences.py has the names of the formats.
# Text is compared in lower case.
_BY_FIRST_BYTES = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "empty_zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "office"),
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"SQLite format 3\0", "sqlite"),
    (b"\xff\xfe\0\0", "utf_32"),
    (b"\0\0\xfe\xff", "utf_32"),
)
_BY_FIRST_TEXT = (
    (b"{\\rtf", "rtf"),
    (b"<!doctype html", "html"),
    (b"<html", "html"),
    (b"<?xml", "xml"),
    (b"begin:vcard", "vcard"),
)
_BLANKS_AND_MARK = b"\xef\xbb\xbf \t\r\n"
_MOST_UNPRINTABLE = 5  # per cent of the characters in a text file


class UnreadableFileError(TaskRefusedError):
    """The error for a file that cannot be imported. `str()` says why."""

    def __str__(self) -> str:
        return sentence_of(InputRefusal(self.code, self.parameters))


def refuse_other_formats(start: bytes) -> None:
    """Raise `UnreadableFileError` if the file begins like a file of another format."""
    text = start.lstrip(_BLANKS_AND_MARK).lower()
    for begin, known in ((start, _BY_FIRST_BYTES), (text, _BY_FIRST_TEXT)):
        for first, name in known:
            if begin.startswith(first):
                raise UnreadableFileError(f"file_is_{name}")


def without_addresses(sample: str, shown: str) -> UnreadableFileError:
    """Return the error for a file whose first lines, `sample`, have no address."""
    if not sample.strip():
        return UnreadableFileError("file_empty")
    unprintable = sum(not (character.isprintable() or character.isspace()) for character in sample)
    if 100 * unprintable > _MOST_UNPRINTABLE * len(sample):
        return UnreadableFileError("file_is_binary")
    return UnreadableFileError("file_without_addresses", shown=shown)
