"""
Files that are no list of readers at all, and the sentence that says so: the only place that knows
them by their first bytes.

A sentence says what was found, what is expected and what to do.
"""

from __future__ import annotations

EXPECTED = "a list of readers as text, one in each line, such as: ada@example.org,Ada"

# First bytes, as their formats' own descriptions fix them; text is compared in lower case.
_BY_FIRST_BYTES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "an Excel workbook or another packed file (ZIP)"),
    (b"PK\x05\x06", "an empty packed file (ZIP)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook or another document of old Office"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF87a", "a picture (GIF)"),
    (b"GIF89a", "a picture (GIF)"),
    (b"\x1f\x8b\x08", "a packed file (gzip)"),
    (b"7z\xbc\xaf\x27\x1c", "a packed file (7z)"),
    (b"Rar!\x1a\x07", "a packed file (RAR)"),
    (b"SQLite format 3\0", "a database (SQLite)"),
    (b"\xff\xfe\0\0", "text in UTF-32"),
    (b"\0\0\xfe\xff", "text in UTF-32"),
)
_BY_FIRST_TEXT: tuple[tuple[bytes, str], ...] = (
    (b"{\\rtf", "a document in rich text (RTF)"),
    (b"<!doctype html", "a web page (HTML)"),
    (b"<html", "a web page (HTML)"),
    (b"<?xml", "an XML document"),
    (b"begin:vcard", "a set of address cards (vCard)"),
)
_BLANKS_AND_MARK = b"\xef\xbb\xbf \t\r\n"
# More characters than this of a hundred that nobody types: not text.
_MOST_UNTYPED = 5


class UnreadableFileError(Exception):
    """The file as a whole cannot be imported. Its text is one sentence for the importer."""


def refuse_other_formats(start: bytes) -> None:
    """Raise `UnreadableFileError` if the file begins as files of another format do."""
    for first, found in _BY_FIRST_BYTES:
        if start.startswith(first):
            raise _other_format(found)
    text = start.lstrip(_BLANKS_AND_MARK).lower()
    for first, found in _BY_FIRST_TEXT:
        if text.startswith(first):
            raise _other_format(found)


def without_addresses(sample: str, shown: str) -> UnreadableFileError:
    """
    Why a file is refused whose first lines, `sample`, hold no address. `shown`: their beginning.
    """
    if not sample.strip():
        return UnreadableFileError(f"The file is empty; expected is {EXPECTED}")
    untyped = sum(not (character.isprintable() or character.isspace()) for character in sample)
    if 100 * untyped > _MOST_UNTYPED * len(sample):
        return _other_format("not text")
    return UnreadableFileError(
        f"There is no address in the first lines, which begin with “{shown}”, and no header that "
        f"names a column of addresses; expected is {EXPECTED}"
    )


def _other_format(found: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"The file is {found}; expected is a list as text: open it in its own program, save the "
        "list as “CSV UTF-8” and import that."
    )
