"""Files that are no list of readers, as people pick them by mistake, and what is said of each."""

import gzip
import io
import zipfile

from subscribers.importing.file_format.lines import LONGEST_LINE


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
    "nothing": (b"", "The file is empty; expected is a list of readers as text"),
    "blank lines": (b"\n\n  \n", "The file is empty"),
    "a mark alone": (b"\xef\xbb\xbf", "The file is empty"),
    "blanks": (b" " * 3_000_000, "The file is empty"),
    "a workbook": (workbook(), "The file is an Excel workbook or another packed file (ZIP)"),
    "an old workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512) + b"ada@example.org",
        "The file is an Excel workbook or another document of old Office",
    ),
    "a PDF": (b"%PDF-1.7\nada@example.org,Ada\n", "The file is a PDF document"),
    "a PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "The file is a picture (PNG)"),
    "a ZIP": (packed_list(), "packed file (ZIP)"),
    "an empty ZIP": (b"PK\x05\x06" + bytes(18), "The file is an empty packed file (ZIP)"),
    "a gzip": (gzip.compress(b"email\nada@example.org\n"), "The file is a packed file (gzip)"),
    "a web page": (b"\n <HTML><table><tr><td>ada@example.org", "The file is a web page (HTML)"),
    "address cards": (
        b"\xef\xbb\xbfBEGIN:VCARD\nEMAIL:ada@example.org\n",
        "The file is a set of address cards",
    ),
    "UTF-32": ("email,name\n".encode("utf-32"), "The file is text in UTF-32"),
    "bytes": (bytes(range(256)) * 400, "The file is not text"),
    "zeros": (bytes(100_000), "The file is not text"),
    "a letter": (b"Dear readers,\nthe swifts are back.\n", "begin with “Dear readers,"),
    "a line without end": (b"x" * (LONGEST_LINE + 1), "There is no address in the first lines"),
    "addresses of houses": (
        b"Address,Town\n1 Mill Lane,Wick\n",
        "no header that names a column of addresses",
    ),
}
