"""Lists are read correctly in every encoding and dialect."""

import codecs
import csv
import io
import itertools
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import Description, ReaderFile, Row
from subscribers.importing.file_format.split_lines import LONGEST_LINE
from subscribers.importing.file_format.split_records import BadRow
from subscribers.importing.file_format.validate_row import validate_row
from subscribers.importing.import_sentences import (
    ENCODING_WARNINGS,
    columns_sentence,
    unused_sentence,
)
from subscribers.models.subscriber_import import LONGEST_EXCERPT

READERS = [
    ("ada@example.org", "Ada Whitlock"),
    ("nora@example.com", "Nóra, Çelik; geb. Größe"),
    ("bob@example.net", 'Bob "the Swift"\nSmith'),
    ("zoe@example.org", "Zoë"),
]
# The byte order mark, the codec, and the displayed name.
ENCODINGS = [
    ("", "utf-8", "UTF-8"),
    ("\ufeff", "utf-8", "UTF-8"),
    ("", "utf-16-le", "UTF-16"),
    ("\ufeff", "utf-16-le", "UTF-16"),
    ("", "utf-16-be", "UTF-16"),
    ("\ufeff", "utf-16-be", "UTF-16"),
    ("", "cp1252", "Windows-1252"),
]
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
LINE_ENDS = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}


def written(
    rows: Sequence[tuple[str, ...]], delimiter: str = ",", line_end: str = "\n", quote: bool = False
) -> str:
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(rows)
    return file.getvalue()


def rows_of(content: bytes | str) -> list[Row | BadRow]:
    content = content.encode() if isinstance(content, str) else content
    with ReaderFile(io.BytesIO(content)) as file:
        rows = list(file.rows())
    return [row._replace(cells=()) if isinstance(row, Row) else row for row in rows]


def read(content: bytes | str) -> tuple[Description, list[tuple[str, str]]]:
    """Read the content; return its description and its valid rows."""
    content = content.encode() if isinstance(content, str) else content
    with ReaderFile(io.BytesIO(content)) as file:
        rows = [row for row in file.rows() if isinstance(row, Row)]
        return file.description, [(row.email, row.values[0]) for row in rows]


def test_a_list_is_read_in_every_encoding_and_dialect() -> None:
    for dialect in itertools.product(
        ENCODINGS, DELIMITERS, LINE_ENDS, [True, False], [True, False]
    ):
        (mark, codec, words), delimiter, line_end, header, quote = dialect
        rows: list[tuple[str, ...]] = [("E-Mail", "Nome")] if header else []
        text = mark + written([*rows, *READERS], delimiter, line_end, quote=quote)

        description, found = read(text.encode(codec))

        assert found == READERS, dialect
        assert (description.encoding, description.delimiter) == (words, DELIMITERS[delimiter])
        assert description.has_header is header
        assert (description.encoding_warning == "") is (words != "Windows-1252")
        # The description also names the kind of line break inside a name.
        assert set(description.line_ends.split(", ")) == {LINE_ENDS[line_end], "LF"}
        assert description.examples[0] == ", ".join(READERS[0])


GOOD = [(f"reader{number}@example.org", f"Reader {chr(65 + number)}") for number in range(6)]
LONG = 5 * LONGEST_LINE
DAMAGE = {
    "a NUL byte": b"zoe@example.org,Z\0oe\n",
    "bytes that are no characters": b"zoe@example.org,Zo\xff\xfe\n",
    "a line that is too long": b"zoe@example.org," + b"z" * LONG + b"\n",
    "a line of blanks that is too long": b" " * LONG + b"\n",
    "blanks before an address": b" " * LONG + b"zoe@example.org\n",
    "a quotation that never ends": b'zoe@example.org,"Zoe\n',
    "a quotation with a NUL byte inside": b'zoe@example.org,"Zo\n\0e"\n',
    "a quotation with a line that is too long": b'zoe@example.org,"Zo\n' + b"z" * LONG + b'"\n',
    "a stray quotation mark": b'"zoe@example.org" or so,Zoe\n',
    "a binary row": bytes(range(256)) * 3 + b"\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_affects_only_its_own_row(damage: str) -> None:
    for at, quote in itertools.product([1, 2, 6], [True, False]):
        lines = written([("email", "name"), ("é@example.org", "É"), *GOOD], quote=quote).encode()
        rows = lines.splitlines(keepends=True)
        found = rows_of(b"".join([*rows[:at], DAMAGE[damage], *rows[at:]]))
        good = [(row.email, row.values[0]) for row in found if isinstance(row, Row)]
        assert [row for row in good if row in GOOD] == GOOD
        assert not any(email.strip() == "zoe@example.org" for email, _ in good)
        assert BadRow in map(type, found)


FRAGMENTS = st.sampled_from(
    [
        *(bytes([byte]) for byte in b'"",;\t|\r\n\r\n\0\x1a@ \xff\xe9'),
        *(b"email", b"name", b"ada@example.org", "Nóra".encode(), "é".encode("cp1252")),
        *(codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"sep=;\n", b"a\0@\0"),
        b"x" * (LONGEST_LINE - 2),
    ]
)


@given(st.one_of(st.binary(max_size=300), st.lists(FRAGMENTS, max_size=40).map(b"".join)))
def test_any_bytes_give_stable_rows_or_one_error(content: bytes) -> None:
    file = ReaderFile(io.BytesIO(content))
    try:
        with file:
            rows, again = list(file.rows()), list(file.rows())
    except UnreadableFileError as refusal:
        summary, rows, again = str(refusal), [], []
    else:
        summary = f"{columns_sentence(file.description)}; {unused_sentence(file.description)}"

    assert len(summary.splitlines()) == 1
    assert rows == again
    assert [row.line for row in rows] == sorted({row.line for row in rows})
    assert all(len(validate_row(row).email) <= LONGEST_EXCERPT for row in rows)


@pytest.mark.parametrize(
    ("header", "row", "name"),
    [
        ("Name;Vorname;E-Mail", "Whitlock;Ada;ada@example.org", "Ada Whitlock"),
        ("Name;Vorname;E-Mail", "Ada Whitlock;Ada;ada@example.org", "Ada Whitlock"),
        ("NOM;PRÉNOM;COURRIEL", "Whitlock;Ada;ada@example.org", "Ada Whitlock"),
        ("Nombre,Apellidos,Correo electrónico", "Ada,Whitlock,ada@example.org", "Ada Whitlock"),
        ("Name,First Name,Last Name,E-mail 1 - Value", "A,Ada,Reed,ada@example.org", "Ada Reed"),
        ("Email,Surname", "ada@example.org,Whitlock", "Whitlock"),
        ("Full Name,First Name,Email", "Ada Whitlock,Ada,ada@example.org", "Ada Whitlock"),
        ("名前,メールアドレス", "王小燕,ada@example.org", "王小燕"),
        ("address,name", "ada@example.org,Ada", "Ada"),
        ("Town,Address,Email,Name", "Wick,1 Mill Lane,ada@example.org,Ada", "Ada"),
        ("Contact e-mail (work),Name", "ada@example.org,Ada", "Ada"),
        ("Mail,Contact,Name", "yes,ada@example.org,Ada", "Ada"),
        ("Email,Email,Name", ",ada@example.org,Ada", "Ada"),
        ("Referrer,Contact,Name", "boss@example.org,ada@example.org,Ada", "Ada"),
        ("Contact,Email,Name", "boss@example.org,ada@example.org,Ada", "Ada"),
        ("Reader,Town", "ada@example.org,Wick", ""),
        ("email", "ada@example.org,Ada", ""),
    ],
)
def test_the_header_names_the_columns_in_many_languages(header: str, row: str, name: str) -> None:
    description, found = read(f"{header}\n{row}\n")
    assert found == [("ada@example.org", name)]
    assert description.has_header


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (["ada@example.org"], [("ada@example.org", "")]),
        (["Ada,ada@example.org"], [("ada@example.org", "Ada")]),
        (["7,ada@example.org,2024-05-01,Ada"], [("ada@example.org", "Ada")]),
        (["http://example.org/,ada@example.org"], [("ada@example.org", "")]),
        (
            [f"active,r{letter}@example.org,{letter}" for letter in "abcde"],
            [(f"r{letter}@example.org", letter) for letter in "abcde"],
        ),
        (["active,a@example.org"] * 5, [("a@example.org", "")] * 5),
        (
            ["nowhere,Bob", "Name,Carl", "ada@example.org,Ada", "bob@example.org"],
            [
                ("nowhere", "Bob"),
                ("Name", "Carl"),
                ("ada@example.org", "Ada"),
                ("bob@example.org", ""),
            ],
        ),
        (["Ada <ada@example.org>"], [("Ada <ada@example.org>", "")]),
        (["Ada < ada@example.org >"], [("Ada < ada@example.org >", "")]),
        (["Bob <mailto:bob@example.org>"], [("Bob <mailto:bob@example.org>", "")]),
        (
            ["nowhere", "a b", "a@example.org"],
            [("nowhere", ""), ("a b", ""), ("a@example.org", "")],
        ),
    ],
)
def test_columns_are_found_without_a_header(rows: list[str], found: list[tuple[str, str]]) -> None:
    description, got = read("\n".join(rows))
    assert got == found
    assert not description.has_header


def test_columns_without_a_header_are_named_by_their_numbers() -> None:
    description, _ = read("7,ada@example.org,Ada\n")
    assert columns_sentence(description) == "Address: column 2; Name: column 3"
    assert unused_sentence(description) == "Ignored: column 1"


@pytest.mark.parametrize("name", ["c", "tags", "status", "signed up at"])
def test_a_thousand_columns_are_described_briefly(name: str) -> None:
    names = [f"c{number}" if name == "c" else name for number in range(1000)]
    description, _ = read("email," + ",".join(names))
    sentence = (unused_sentence if name == "c" else columns_sentence)(description)
    assert sentence.endswith("988 more")
    assert sentence.count(f"“{name}") == 12


def test_a_late_accent_decides_the_encoding() -> None:
    long = "A" * 160
    plain = b"email,name\n" + f"ada@example.org,{long}\n".encode() * 7_000

    windows, rows = read(plain + "bob@example.org,Bób\n".encode("cp1252"))
    utf_8, the_same = read(plain + "bob@example.org,Bób\n".encode())

    assert (windows.encoding, utf_8.encoding) == ("Windows-1252", "UTF-8")
    assert rows[-1] == the_same[-1] == ("bob@example.org", "Bób")
    # If the encoding is uncertain, Homing searches the whole file for an example with an accent.
    assert windows.examples == (f"ada@example.org, {long}", "bob@example.org, Bób")
    assert utf_8.examples == (f"ada@example.org, {long}",)


PERHAPS_ANOTHER = "If a name looks wrong here, save the list as “CSV UTF-8” and import that file."
SURELY_ANOTHER = "some bytes are invalid in Windows-1252"


@pytest.mark.parametrize(
    ("codec", "name", "shown", "warning"),
    [
        ("cp1252", "Zoë", "Zoë", PERHAPS_ANOTHER),
        ("iso8859-2", "Żuraw", "¯uraw", PERHAPS_ANOTHER),
        ("cp1250", "Ťažký", None, SURELY_ANOTHER),
        ("cp1251", "Анна", "Àííà", PERHAPS_ANOTHER),
        ("mac-roman", "Hélène", None, SURELY_ANOTHER),
    ],
)
def test_an_uncertain_encoding_is_reported(
    codec: str, name: str, shown: str | None, warning: str
) -> None:
    description, _ = read(f"email,name\na@example.org,A\nz@example.org,{name}\n".encode(codec))
    assert description.encoding == "Windows-1252"
    assert warning in ENCODING_WARNINGS[description.encoding_warning]
    wrong = () if shown is None else (f"z@example.org, {shown}",)
    assert description.examples == ("a@example.org, A", *wrong)


def test_searching_for_accents_does_not_count_as_progress() -> None:
    content = b"email,name\n" + b"ada@example.org,Ada\n" * 1000
    with ReaderFile(io.BytesIO(content + "zoe@example.org,Zoë\n".encode("cp1252"))) as file:
        assert file.bytes_read == 0


@pytest.mark.parametrize("around", range(-3, 4))
def test_line_numbers_stay_right_around_the_longest_line(around: int) -> None:
    long = "x" * (LONGEST_LINE + around)
    for mark, line_end in itertools.product(["", "\ufeff"], LINE_ENDS):
        text = mark + line_end.join([long, "ada@example.org", "y" + long, "bob@example.org"])
        lines = {row.line: isinstance(row, Row) for row in rows_of(text)}
        fits = [len(line + line_end) <= LONGEST_LINE for line in (long, "y" + long)]
        assert lines == {1: fits[0], 2: True, 3: fits[1], 4: True}


def test_an_upload_stays_open_and_reports_its_progress() -> None:
    upload = io.BytesIO(b"email\n" + b"ada@example.org\n" * 10_000)
    upload.seek(100)

    with ReaderFile(upload) as file:
        before = file.bytes_read
        first = next(rows := file.rows())
        upload.seek(7)  # another reader moves the position
        some = file.bytes_read
        others = sum(1 for _ in rows)

    assert (before, first, others) == (
        0,
        Row(2, "ada@example.org", ("",), cells=["ada@example.org"]),
        9_999,
    )
    assert 0 < some < file.size == file.bytes_read
    assert not upload.closed


def test_a_line_of_20_mb_is_read_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_bytes(b"email\nada@example.org\n" + b"x" * 20_000_000 + b"\nbob@example.org\n")
    tracemalloc.start()
    try:
        with ReaderFile(path) as file:
            rows = list(file.rows())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert [type(row) for row in rows] == [Row, BadRow, Row]
    assert peak < 10_000_000
