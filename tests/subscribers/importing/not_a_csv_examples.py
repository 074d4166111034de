"""Files that are not lists of readers, with a part of their error."""

import gzip
import io
import zipfile

from subscribers.importing.file_format.split_lines import LONGEST_LINE


def workbook() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", '<?xml version="1.0" encoding="UTF-8"?><Types/>')
        packed.writestr("xl/sharedStrings.xml", "<sst><si><t>ada@example.org</t></si></sst>")
    return file.getvalue()


def packed_list() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("readers.csv", "email,name\nada@example.org,Ada\n")
    return file.getvalue()


NO_LISTS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "The file is empty. Homing expects one reader per line"),
    "blank lines": (b"\n\n  \n", "The file is empty"),
    "a mark alone": (b"\xef\xbb\xbf", "The file is empty"),
    "blanks": (b" " * 3_000_000, "The file is empty"),
    "a workbook": (
        workbook(),
        "Homing cannot read this format: an Excel workbook or a ZIP archive.",
    ),
    "an old workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512) + b"ada@example.org",
        "this format: an old Excel workbook or another old Office document.",
    ),
    "a PDF": (b"%PDF-1.7\nada@example.org,Ada\n", "this format: a PDF document."),
    "a PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "this format: an image (PNG)."),
    "a ZIP": (packed_list(), "a ZIP archive."),
    "an empty ZIP": (b"PK\x05\x06" + bytes(18), "this format: an empty ZIP archive."),
    "a gzip": (
        gzip.compress(b"email\nada@example.org\n"),
        "this format: a compressed file (gzip).",
    ),
    "a web page": (b"\n <HTML><table><tr><td>ada@example.org", "this format: a web page (HTML)."),
    "address cards": (
        b"\xef\xbb\xbfBEGIN:VCARD\nEMAIL:ada@example.org\n",
        "this format: address cards (vCard).",
    ),
    "UTF-32": ("email,name\n".encode("utf-32"), "this format: text in UTF-32."),
    "bytes": (bytes(range(256)) * 400, "this format: binary data."),
    "zeros": (bytes(100_000), "this format: binary data."),
    "a letter": (
        b"Dear readers,\r\nthe\x1bswifts.\n",
        "They begin with “Dear readers, the swifts.”.",
    ),
    "a line without end": (b"x" * (LONGEST_LINE + 1), "The first lines contain no address"),
    "addresses of houses": (
        b"Address,Town\n1 Mill Lane,Wick\n",
        "no column has a header for email",
    ),
}
