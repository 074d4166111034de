"""A list comes back as it was, however it was written down."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscribers.importing.description import Description
from subscribers.importing.judging import judge
from subscribers.importing.reading import LONGEST_LINE, BadRow, ReaderFile, Row, UnreadableFileError
from subscribers.models.left_out_row import LONGEST_EXCERPT

READERS = [
    ("ada@example.org", "Ada Whitlock"),
    ("nora@example.com", "Nóra, Çelik; geb. Größe"),
    ("bob@example.net", 'Bob "the Swift"\nSmith'),
    ("zoe@example.org", "Zoë"),
]
ENCODINGS = {
    "UTF-8": ("", "utf-8", "UTF-8"),
    "UTF-8 with mark": ("\ufeff", "utf-8", "UTF-8"),
    "UTF-16 LE": ("", "utf-16-le", "UTF-16"),
    "UTF-16 LE with mark": ("\ufeff", "utf-16-le", "UTF-16"),
    "UTF-16 BE": ("", "utf-16-be", "UTF-16"),
    "UTF-16 BE with mark": ("\ufeff", "utf-16-be", "UTF-16"),
    "Windows-1252": ("", "cp1252", "Windows-1252"),
}
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
LINE_ENDS = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}


def written(
    rows: Sequence[tuple[str, ...]],
    delimiter: str = ",",
    line_end: str = "\n",
    *,
    quote: bool = False,
) -> str:
    """The rows as CSV."""
    file = io.StringIO(newline="")
    csv.writer(
        file,
        delimiter=delimiter,
        lineterminator=line_end,
        quoting=csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL,
    ).writerows(rows)
    return file.getvalue()


def read(content: bytes) -> tuple[Description, list[tuple[str, str]]]:
    """How the content was understood, and its good rows as address and name."""
    with ReaderFile(io.BytesIO(content)) as file:
        rows = [row for row in file.rows() if isinstance(row, Row)]
        return file.description, [(row.email, row.name) for row in rows]


def description_of(text: str) -> Description:
    """How this text was understood."""
    return read(text.encode())[0]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("quote", [True, False])
def test_a_list_is_understood_in_every_encoding_and_dialect(
    encoding: str, delimiter: str, line_end: str, header: bool, quote: bool
) -> None:
    mark, codec, words = ENCODINGS[encoding]
    rows: list[tuple[str, ...]] = [("E-Mail", "Nome")] if header else []
    content = (mark + written([*rows, *READERS], delimiter, line_end, quote=quote)).encode(codec)

    description, found = read(content)

    assert found == READERS
    assert (description.encoding, description.delimiter) == (words, DELIMITERS[delimiter])
    assert description.has_header is header
    # The line break in a name is one, too.
    assert set(description.line_ends.split(" and ")) == {LINE_ENDS[line_end], "LF"}
    assert description.first_row == READERS[0]


# Letters of one byte in Windows-1252 that make no valid UTF-8 among themselves.
LATIN = "abcdefgh ÀÉÎÕÜßàéîõü"
MARKS_OF_DIALECTS = ",;|\t\"\n' "
ADDRESSES = st.from_regex(
    r"[a-z0-9]{1,12}([.+_-][a-z0-9]{1,8})?@[a-z]{3,12}\.example", fullmatch=True
)


def names(codec: str) -> st.SearchStrategy[str]:
    """Names that this codec can write, with all that makes CSV hard, but no @ and no control."""
    letters = (
        st.sampled_from(LATIN)
        if codec == "cp1252"
        else st.characters(categories=["L", "Mn"], codec="utf-8")
    )
    return st.text(st.one_of(letters, st.sampled_from(MARKS_OF_DIALECTS)), max_size=20).map(
        lambda name: f"N{name}n"
    )


@settings(deadline=None, max_examples=250)
@given(st.data())
def test_every_row_that_a_program_wrote_comes_back(data: st.DataObject) -> None:
    mark, codec, words = data.draw(st.sampled_from(sorted(ENCODINGS.values())))
    delimiter = data.draw(st.sampled_from(sorted(DELIMITERS)))
    line_end = data.draw(st.sampled_from(sorted(LINE_ENDS)))
    readers = data.draw(st.lists(st.tuples(ADDRESSES, names(codec)), min_size=1, max_size=8))
    text = mark + written(
        [("name", "email"), *((name, email) for email, name in readers)],
        delimiter,
        line_end,
        # Python's own writer leaves LF without quotation marks where lines end in CR.
        quote=line_end == "\r" or data.draw(st.booleans()),
    )

    description, found = read(text.encode(codec))

    assert found == readers
    assert description.encoding == words or text.isascii()


GOOD = [(f"reader{number}@example.org", f"Reader {chr(65 + number)}") for number in range(6)]
DAMAGE = {
    "a NUL byte": b"zoe@example.org,Z\0oe\n",
    "bytes that are no characters": b"zoe@example.org,Zo\xff\xfe\n",
    "a line of 10 MB": b"zoe@example.org," + b"z" * 10_000_000 + b"\n",
    "a line of 10 MB of blanks": b" " * 10_000_000 + b"\n",
    "a quotation that never ends": b'zoe@example.org,"Zoe\n',
    "a quotation with a NUL byte inside": b'zoe@example.org,"Zo\n\0e"\n',
    "a quotation with a line of 10 MB": b'zoe@example.org,"Zo\n' + b"z" * 10_000_000 + b'"\n',
    "a stray quotation mark": b'"zoe@example.org" or so,Zoe\n',
    "a binary row": bytes(range(256)) * 3 + b"\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("at", [1, 2, 6])
@pytest.mark.parametrize("quote", [True, False])
def test_damage_costs_its_own_row_and_no_good_one(damage: str, at: int, quote: bool) -> None:
    lines = written([("email", "name"), ("é@example.org", "É"), *GOOD], quote=quote).encode()
    before_and_after = lines.splitlines(keepends=True)

    _, found = read(b"".join([*before_and_after[:at], DAMAGE[damage], *before_and_after[at:]]))

    assert [row for row in found if row in GOOD] == GOOD
    assert not any(email == "zoe@example.org" for email, _ in found)


FRAGMENTS = st.sampled_from(
    [
        *(bytes([byte]) for byte in b'"",;\t|\r\n\r\n\0\x1a@ \xff\xe9'),
        *(b"email", b"name", b"ada@example.org", "Nóra".encode(), "é".encode("cp1252")),
        *(codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"sep=;\n", b"a\0@\0"),
        b"x" * (LONGEST_LINE - 2),
    ]
)


@settings(deadline=None, max_examples=600)
@given(st.one_of(st.binary(max_size=300), st.lists(FRAGMENTS, max_size=40).map(b"".join)))
def test_any_bytes_are_rows_or_one_sentence_and_the_same_each_time(content: bytes) -> None:
    file = ReaderFile(io.BytesIO(content))
    try:
        with file:
            rows, again = list(file.rows()), list(file.rows())
    except UnreadableFileError as refusal:
        said, rows, again = str(refusal), [], []
    else:
        said = f"{file.description.columns}; {file.description.not_used}"

    assert len(said.splitlines()) == 1
    assert rows == again
    assert [row.line for row in rows] == sorted({row.line for row in rows})
    assert all(len(judge(row).email) <= LONGEST_EXCERPT for row in rows)


@pytest.mark.parametrize(
    ("header", "row", "name"),
    [
        (
            "E-Mail-Adresse;Vorname;Nachname;Stand",
            "ada@example.org;Ada;Whitlock;2024",
            "Ada Whitlock",
        ),
        ("Nachname;Vorname;Mail", "Whitlock;Ada;ada@example.org", "Ada Whitlock"),
        ("Name;Vorname;E-Mail", "Whitlock;Ada;ada@example.org", "Ada Whitlock"),
        ("Name;Vorname;E-Mail", "Ada Whitlock;Ada;ada@example.org", "Ada Whitlock"),
        ("NOM;PRÉNOM;COURRIEL", "Whitlock;Ada;ada@example.org", "Ada Whitlock"),
        ("Nom,Adresse mail", "Ada Whitlock,ada@example.org", "Ada Whitlock"),
        ("Nombre,Apellidos,Correo electrónico", "Ada,Whitlock,ada@example.org", "Ada Whitlock"),
        ("Nome,Cognome,Posta elettronica", "Ada,Whitlock,ada@example.org", "Ada Whitlock"),
        ("First Name,Last Name,Email Address", "Ada,Whitlock,ada@example.org", "Ada Whitlock"),
        ("first_name,last_name,email_address", "Ada,Whitlock,ada@example.org", "Ada Whitlock"),
        (
            "Name,First Name,Last Name,E-mail 1 - Value",
            "A. W.,Ada,Whitlock,ada@example.org",
            "Ada Whitlock",
        ),
        ("Full Name,First Name,Email", "Ada Whitlock,Ada,ada@example.org", "Ada Whitlock"),
        ("Imię i nazwisko,Adres e-mail", "Ada Whitlock,ada@example.org", "Ada Whitlock"),
        ("Имя,Электронная почта", "Ада,ada@example.org", "Ада"),
        ("名前,メールアドレス", "王小燕,ada@example.org", "王小燕"),
        ("address,name", "ada@example.org,Ada", "Ada"),
        ("Town,Address,Email,Name", "Wick,1 Mill Lane,ada@example.org,Ada", "Ada"),
        ("Contact e-mail (work),Name", "ada@example.org,Ada", "Ada"),
        ("Mail,Contact,Name", "yes,ada@example.org,Ada", "Ada"),
        ("Email,Email,Name", ",ada@example.org,Ada", "Ada"),
        ("Email,Surname", "ada@example.org,Whitlock", "Whitlock"),
        ("email,who", "ada@example.org,Ada", ""),
        ("email", "ada@example.org,Ada", ""),
    ],
)
def test_the_header_names_the_columns_in_many_languages(header: str, row: str, name: str) -> None:
    description, found = read(f"{header}\n{row}\n".encode())

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
        (["nowhere,Bob", "ada@example.org,Ada"], [("nowhere", "Bob"), ("ada@example.org", "Ada")]),
        (
            ["ada@example.org,Ada", "bob@example.org"],
            [("ada@example.org", "Ada"), ("bob@example.org", "")],
        ),
        (
            ["nowhere,Bob", "Name,Carl", "ada@example.org,Ada"],
            [("nowhere", "Bob"), ("Name", "Carl"), ("ada@example.org", "Ada")],
        ),
        (["Ada <ada@example.org>"], [("Ada <ada@example.org>", "")]),
    ],
)
def test_without_a_header_the_addresses_and_the_words_tell(
    rows: list[str], found: list[tuple[str, str]]
) -> None:
    description, got = read("\n".join(rows).encode())

    assert got == found
    assert not description.has_header


def test_what_stands_above_the_header_is_reported_and_costs_nothing() -> None:
    content = (
        b"\n\nList of readers;;\nof 2024-05-01;;\nVorname;Name;Mail\nAda;Whitlock;ada@example.org\n"
    )

    with ReaderFile(io.BytesIO(content)) as file:
        above, further, row = file.rows()

    assert [(bad.line, bad.reason) for bad in (above, further) if not isinstance(bad, Row)] == [
        (3, "The row is above the header."),
        (4, "The row is above the header."),
    ]
    assert row == Row(6, "ada@example.org", "Ada Whitlock")


def test_of_several_lines_that_may_be_the_header_the_one_with_the_most_words_is_it() -> None:
    content = b"Mail\nemail,Vorname,Nachname\nemail,name\nada@example.org,Ada,Whitlock\n"

    with ReaderFile(io.BytesIO(content)) as file:
        assert list(file.rows()) == [
            BadRow(1, "Mail", "The row is above the header."),
            Row(3, "email", "name"),
            Row(4, "ada@example.org", "Ada Whitlock"),
        ]


def test_a_header_of_a_thousand_columns_is_described_in_a_few_words() -> None:
    description = description_of("email," + ",".join(f"c{number}" for number in range(1000)))

    assert description.unused_columns[:1] == ("“c0”",)
    assert description.unused_columns[-1] == "988 more"
    assert len(description.unused_columns) == 13


def test_a_line_that_only_begins_with_blanks_is_reported_when_it_is_too_long() -> None:
    with ReaderFile(
        io.BytesIO(b"email\n" + b" " * 2 * LONGEST_LINE + b"ada@example.org\n")
    ) as file:
        (row,) = file.rows()

    assert isinstance(row, BadRow)
    assert row.line == 2


def test_a_first_line_may_state_the_delimiter_as_excel_does() -> None:
    with ReaderFile(io.BytesIO(b"sep=;\r\nemail;name\r\nada@example.org;Ada, B;\r\n")) as file:
        assert list(file.rows()) == [Row(3, "ada@example.org", "Ada, B")]
        assert file.description.delimiter == "semicolons"


def test_blanks_between_a_comma_and_a_quotation_do_not_break_it() -> None:
    assert read(b'email, name\n"ada@example.org", "Smith, Ada"\n')[1] == [
        ("ada@example.org", "Smith, Ada")
    ]


def test_the_description_says_how_the_file_is_read() -> None:
    text = "E-Mail;Nome;Stand;\r\nlidia.ramos@weir.example;Lídia Ramos;2024;\r\n"

    description, _ = read(text.encode("cp1252"))

    assert description.read_as == "Windows-1252, semicolons, with a header, CRLF"
    assert description.columns == "“E-Mail” is the address, “Nome” the name"
    assert description.not_used == "“Stand” and column 4 are not used"
    assert description.first_row == ("lidia.ramos@weir.example", "Lídia Ramos")


def test_the_description_numbers_the_columns_that_have_no_header() -> None:
    description = description_of("7,ada@example.org,Ada\n")
    one_column = description_of("ada@example.org")

    assert description.read_as == "UTF-8, commas, without a header, LF"
    assert description.columns == "Column 2 is the address, column 3 the name"
    assert description.not_used == "Column 1 is not used"
    assert one_column.read_as == "UTF-8, one column, without a header"
    assert one_column.columns == "Column 1 is the address; there are no names"
    assert one_column.not_used == ""


def test_an_accent_far_down_the_file_decides_as_well_as_one_at_its_start() -> None:
    plain = b"email,name\n" + b"ada@example.org,Ada\n" * 60_000

    windows, rows = read(plain + "bob@example.org,Bób\n".encode("cp1252"))
    utf_8, the_same = read(plain + "bob@example.org,Bób\n".encode())

    assert (windows.encoding, utf_8.encoding) == ("Windows-1252", "UTF-8")
    assert rows[-1] == the_same[-1] == ("bob@example.org", "Bób")
    # Where the encoding is in doubt, a row that shows it is looked for all the way.
    assert windows.examples == ("ada@example.org, Ada", "bob@example.org, Bób")
    assert utf_8.examples == ("ada@example.org, Ada",)


def test_looking_for_a_row_with_an_accent_counts_as_no_reading() -> None:
    content = b"email,name\n" + b"ada@example.org,Ada\n" * 1000
    content += "zoe@example.org,Zoë\n".encode("cp1252")

    with ReaderFile(io.BytesIO(content)) as file:
        assert file.bytes_read == 0


PERHAPS_ANOTHER = (
    "It is not UTF-8, so its letters are taken for Windows-1252, as Western Europe writes. If a "
    "name looks wrong here, save the list as “CSV UTF-8” and take that."
)
SURELY_ANOTHER = (
    "It is not UTF-8, and it holds bytes that stand for nothing in Windows-1252, so it is probably "
    "in another encoding. Save the list as “CSV UTF-8” and take that."
)


@pytest.mark.parametrize(
    ("codec", "name", "shown", "doubt"),
    [
        ("cp1252", "Zoë", "Zoë", PERHAPS_ANOTHER),
        ("iso8859-2", "Żuraw", "¯uraw", PERHAPS_ANOTHER),
        ("cp1250", "Řehoř", "Øehoø", PERHAPS_ANOTHER),
        ("cp1250", "Ťažký", None, SURELY_ANOTHER),
        ("cp1251", "Анна", "Àííà", PERHAPS_ANOTHER),
        ("mac-roman", "André", "AndrŽ", PERHAPS_ANOTHER),
        ("mac-roman", "Hélène", None, SURELY_ANOTHER),
    ],
)
def test_of_another_encoding_it_is_said_that_letters_may_be_wrong_and_what_to_do(
    codec: str, name: str, shown: str | None, doubt: str
) -> None:
    content = f"email,name\nada@example.org,Ada\nzoe@example.org,{name}\n".encode(codec)

    description, _ = read(content)

    assert description.encoding == "Windows-1252"
    assert description.doubt == doubt
    wrong = () if shown is None else (f"zoe@example.org, {shown}",)
    assert description.examples == ("ada@example.org, Ada", *wrong)


@pytest.mark.parametrize("codec", ["ascii", "utf-8", "utf-8-sig", "utf-16"])
def test_of_an_encoding_that_the_bytes_prove_nothing_is_said(codec: str) -> None:
    name = "Zoe" if codec == "ascii" else "\u0141ó\u010f\u010e"

    assert read(f"email,name\nzoe@example.org,{name}\n".encode(codec))[0].doubt == ""


@pytest.mark.parametrize("codec", ["utf-8", "cp1252"])
def test_rows_with_accents_are_shown_beside_the_first_at_most_three(codec: str) -> None:
    zoes = [(f"r{number}@example.org", f"Zoë {number}") for number in range(5)]
    text = written([("email", "name"), ("ada@example.org", "Ada"), *zoes])

    assert read(text.encode(codec))[0].examples == (
        "ada@example.org, Ada",
        "r0@example.org, Zoë 0",
        "r1@example.org, Zoë 1",
        "r2@example.org, Zoë 2",
    )


def test_the_first_row_is_shown_once_and_its_accent_is_enough() -> None:
    content = "email,name\nzoe@example.org,Zoë\n".encode("cp1252")
    far_down = b"ada@example.org,Ada\n" * 1000 + "eva@example.org,Évá\n".encode("cp1252")

    assert read(content)[0].examples == ("zoe@example.org, Zoë",)
    assert read(content + far_down)[0].examples == ("zoe@example.org, Zoë",)


def test_a_few_broken_characters_do_not_make_another_encoding_of_utf_8() -> None:
    content = ("email,name\n" + "ada@example.org,Nóra\n" * 9).encode()

    description, rows = read(content + b"bob@example.org,B\xf3b\n")

    assert description.encoding == "UTF-8"
    assert [name for _, name in rows] == ["Nóra"] * 9


def test_a_mark_at_the_start_settles_the_encoding_whatever_is_broken_further_down() -> None:
    content = codecs.BOM_UTF8 + b"email,name\nada@example.org,Ada\nbob@example.org,B\xf3\xf3b\n"

    assert read(content)[1] == [("ada@example.org", "Ada")]


def test_a_header_that_may_name_a_column_of_addresses_is_a_list_of_nobody() -> None:
    description, rows = read(b"name,address\n")

    assert description.columns == "“address” is the address, “name” the name"
    assert rows == []


@pytest.mark.parametrize("around", range(-3, 4))
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_line_numbers_stay_right_around_the_longest_line(
    around: int, mark: str, line_end: str
) -> None:
    long = "x" * (LONGEST_LINE + around)
    text = mark + line_end.join([long, "ada@example.org", "y" + long, "bob@example.org"])

    with ReaderFile(io.BytesIO(text.encode())) as file:
        lines = {row.line: isinstance(row, Row) for row in file.rows()}

    fits = len(long + line_end) <= LONGEST_LINE, len("y" + long + line_end) <= LONGEST_LINE
    assert lines == {1: fits[0], 2: True, 3: fits[1], 4: True}


def test_an_upload_is_read_where_it_is_stays_open_and_says_how_far_it_was_read() -> None:
    upload = io.BytesIO(b"email\n" + b"ada@example.org\n" * 50_000)
    upload.seek(100)

    with ReaderFile(upload) as file:
        before = file.bytes_read
        first = next(rows := file.rows())
        upload.seek(7)  # somebody else reads it
        some = file.bytes_read
        others = sum(1 for _ in rows)

    assert (before, first, others) == (0, Row(2, "ada@example.org", ""), 49_999)
    assert 0 < some < file.size == file.bytes_read
    assert not upload.closed


def test_a_list_that_begins_far_below_blank_lines_is_found() -> None:
    content = b"\n" * 100_000 + b"email;name\nada@example.org;Ada\n"

    with ReaderFile(io.BytesIO(content)) as file:
        assert list(file.rows()) == [Row(100_002, "ada@example.org", "Ada")]


def test_a_reading_can_be_taken_up_again_after_any_row() -> None:
    short = [damage for damage in DAMAGE.values() if len(damage) < LONGEST_LINE]
    content = b"".join(short) + written(GOOD).encode()

    with ReaderFile(io.BytesIO(content)) as file:
        whole = list(file.rows())
        for done in range(len(whole)):
            assert list(itertools.islice(file.rows(), done, None)) == whole[done:]


class Endless(io.RawIOBase):
    """A file that is computed, not kept: a list with one line of 100 MB in it."""

    START = b"email\nada@example.org\n"
    END = b"\nbob@example.org\n"
    SIZE = 100_000_000

    def __init__(self) -> None:
        super().__init__()
        self.at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """From the start only."""
        assert whence == io.SEEK_SET
        self.at = offset
        return offset

    def read(self, size: int = -1) -> bytes:
        """What stands there."""
        size = min(size, self.SIZE - self.at)
        piece = bytearray(b"x" * size)
        for text, place in ((self.START, 0), (self.END, self.SIZE - len(self.END))):
            for number, byte in enumerate(text):
                if 0 <= place + number - self.at < size:
                    piece[place + number - self.at] = byte
        self.at += size
        return bytes(piece)


def test_a_line_of_100_mb_takes_no_more_memory_than_others() -> None:
    tracemalloc.start()
    try:
        with ReaderFile(Endless()) as file:  # type: ignore[arg-type]
            rows = list(file.rows())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert [type(row) for row in rows] == [Row, BadRow, Row]
    assert peak < 10_000_000
