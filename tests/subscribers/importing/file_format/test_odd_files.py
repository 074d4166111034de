"""One example for each rule of reading files."""

import codecs
import gzip
import re

import pytest

from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import Row
from subscribers.importing.file_format.split_lines import LONGEST_LINE
from subscribers.importing.file_format.split_records import BadRow
from subscribers.importing.file_format.validate_row import validate_row
from subscribers.importing.import_sentences import columns_sentence, unused_sentence
from subscribers.models import RejectedRow
from subscribers.refusal_sentences import refuse
from tests.subscribers.importing.file_format.test_csv_dialects import read, rows_of
from tests.subscribers.importing.file_format.test_files_in_zip import packed

MEGABYTE = 1024 * 1024
ADA, BOB = ("ada@example.org", "Ada"), ("bob@example.org", "Bob")


def lines(*rows: str) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


class TestTheEncoding:
    @pytest.mark.parametrize(
        ("content", "encoding", "last"),
        [
            # A name may contain the replacement character U+FFFD, which is valid UTF-8.
            ("ada@example.org,Zo\ufffd\n".encode(), "UTF-8", ("ada@example.org", "Zo\ufffd")),
            (
                b"ada@example.org,Ada\nbob@example.org,B\xf3",
                "Windows-1252",
                ("bob@example.org", "Bó"),
            ),
            # Zero bytes in the middle of a file do not mean that it is UTF-16.
            (b"ada@example.org,A\n" + bytes(1000) + b"\nbob@example.org,Bob\n", "UTF-8", BOB),
            # A file with a few broken characters is still UTF-8. If there is a byte order mark, it
            # decides the encoding.
            (
                b"email,name\n" + "a@x.org,Nóra\n".encode() * 9 + b"b@x.org,B\xf3b\n",
                "UTF-8",
                ("a@x.org", "Nóra"),
            ),
            (codecs.BOM_UTF8 + b"ada@example.org,Ada\nb@example.org,B\xf3\xf3b\n", "UTF-8", ADA),
        ],
    )
    def test_all_bytes_decide_the_encoding(
        self, content: bytes, encoding: str, last: tuple[str, str]
    ) -> None:
        description, found = read(content)
        assert description.encoding == encoding
        assert found[-1] == last

    @pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
    def test_the_byte_order_is_detected(self, codec: str) -> None:
        mark = codecs.BOM_UTF16_LE if codec == "utf-16-le" else codecs.BOM_UTF16_BE
        for name in ("一" * 60, "王" * 300):  # “一” is a letter in either byte order
            content = f"ada@example.org,{name}\n".encode(codec)
            description, found = read(content if name[0] == "一" else mark + content)
            assert (description.encoding, found) == ("UTF-16", [("ada@example.org", name)])
        description, found = read("email,name\n".encode(codec))
        assert (description.encoding, found) == ("UTF-16", [])

    def test_an_early_invalid_byte_is_remembered(self) -> None:
        plain = b"ada@example.org,Ada\n" * (MEGABYTE // 20 + 1)
        description, _ = read(b"h@example.org,H\x8fl\x8fne\n" + plain + b"z@example.org,Zo\xeb\n")
        assert description.encoding_warning == "other_encoding"


class TestTheDelimiter:
    @pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"'])
    @pytest.mark.parametrize("above", [[], ["", ""]])
    @pytest.mark.parametrize("header", [["email;name"], []])
    def test_a_stated_delimiter_is_not_a_row(
        self, first: str, above: list[str], header: list[str]
    ) -> None:
        rows = [*above, first, *header, "ada@example.org;Ada, B"]
        assert rows_of(lines(*rows)) == [Row(len(rows), "ada@example.org", ("Ada, B",))]
        assert read(lines(*rows))[0].examples == ("ada@example.org, Ada, B",)

    def test_an_unknown_delimiter_cannot_be_stated(self) -> None:
        assert rows_of(lines("sep=#", "email,name", "ada@example.org,Ada")) == [
            BadRow(1, "sep=#", refuse("row_above_header")),
            Row(3, ADA[0], ADA[1:]),
        ]

    @pytest.mark.parametrize(
        ("rows", "delimiter"),
        [
            (["email;name"], "semicolons"),
            # The delimiter does not depend on known words far down in the file, or on one line with
            # many addresses.
            ([f"r{number}@example.org;to|to|to" for number in range(30)], "semicolons"),
            (
                ["ada@example.org;Ada", "bob@example.org;Bob", f"c@x.org;x,{'s@x.org,' * 5}"],
                "semicolons",
            ),
            ([" ada@example.org ; Ada", " bob@example.org ; Bob"], "semicolons"),
            (["a@example.org", "b@example.org", "c@example.org", "d@example.org,D"], "commas"),
        ],
    )
    def test_addresses_and_header_decide_the_delimiter(
        self, rows: list[str], delimiter: str
    ) -> None:
        assert read(lines(*rows))[0].delimiter == delimiter


class TestTheHeader:
    @pytest.mark.parametrize(("above", "has_header"), [(10, True), (11, False)])
    def test_at_most_ten_rows_can_be_above_the_header(self, above: int, has_header: bool) -> None:
        content = lines(*["Readers of 2024"] * above, "email,name", "ada@example.org,Ada")
        assert read(content)[0].has_header is has_header

    def test_rows_above_the_header_are_reported(self) -> None:
        above = ["", "", "List of readers;;", "of 2024-05-01;;"]
        assert rows_of(lines(*above, "Vorname;Name;Mail", "Ada;Whitlock;ada@example.org")) == [
            BadRow(3, "List of readers", refuse("row_above_header")),
            BadRow(4, "of 2024-05-01", refuse("row_above_header")),
            Row(6, "ada@example.org", ("Ada Whitlock",)),
        ]

    def test_the_header_is_the_first_row_with_most_known_words(self) -> None:
        fuller = ["Mail", "email,Vorname,Nachname", "email,name", "ada@example.org,Ada,Whitlock"]
        assert rows_of(lines(*fuller)) == [
            BadRow(1, "Mail", refuse("row_above_header")),
            Row(3, "email", ("name",)),
            Row(4, "ada@example.org", ("Ada Whitlock",)),
        ]
        assert rows_of(lines("email,name", "email,name", "ada@example.org,Ada")) == [
            Row(2, "email", ("name",)),
            Row(3, ADA[0], ADA[1:]),
        ]

    def test_a_header_is_never_below_an_address(self) -> None:
        content = lines("ada@example.org,Ada", "email,name", "bob@example.org,Bob")
        assert [row.line for row in rows_of(content)] == [1, 2, 3]

    def test_a_header_alone_is_an_empty_list(self) -> None:
        description, rows = read(b"name,address\n")
        assert columns_sentence(description) == "Address: “address”; Name: “name”"
        assert rows == []

    def test_addresses_far_below_the_first_words_are_found(self) -> None:
        content = lines("Our readers", *[""] * 9_000, "ada@example.org;Ada")
        assert read(content)[1][-1] == ADA
        content = b"\n" * 100_000 + b"email;name\nada@example.org;Ada\n"
        assert rows_of(content) == [Row(100_002, ADA[0], ADA[1:])]

    @pytest.mark.parametrize(
        "content",
        [
            lines("Our readers", *[""] * 10_001, "ada@example.org"),
            lines(*["x" * 60_000] * 40, "ada@example.org"),
        ],
        ids=["lines", "characters"],
    )
    def test_the_search_for_addresses_is_limited(self, content: bytes) -> None:
        with pytest.raises(UnreadableFileError, match="The first lines contain no address"):
            rows_of(content)


class TestTheColumns:
    @pytest.mark.parametrize(
        ("rows", "names"),
        [
            # If one row has the same word twice, neither column counts as the full name.
            (["Whitlock;Ada", "Ada;Ada"], ["Ada Whitlock", "Ada Ada"]),
            (["Whitlock;", "Reed;Bob"], ["Whitlock", "Bob Reed"]),
            (["Whitlock;Ada", ";Bob"], ["Ada Whitlock", "Bob"]),
        ],
    )
    def test_first_and_last_names_are_joined(self, rows: list[str], names: list[str]) -> None:
        people = [f"r{number}@example.org;{row}" for number, row in enumerate(rows)]
        content = lines("Mail;Name;Vorname", *people, "short@example.org")
        assert [name for _, name in read(content)[1]] == [*names, ""]

    @pytest.mark.parametrize(
        ("column", "names"),
        [
            (["7", "8", "none"], ["", "", ""]),  # mostly no words
            (["-", "--", "---"], ["", "", ""]),  # no letters
            (["12a", "7b", "1c"], ["", "", ""]),  # digits
            (["", "", "Ada"], ["", "", "Ada"]),  # most people have no name
            (["  ", "  ", "Ada"], ["  ", "  ", "Ada"]),
        ],
    )
    def test_without_a_header_words_are_names(self, column: list[str], names: list[str]) -> None:
        content = lines(*[f"r{number}@example.org,{word}" for number, word in enumerate(column)])
        assert [name for _, name in read(content)[1]] == names

    @pytest.mark.parametrize(
        ("rows", "found"),
        [
            (["name,email", "Ada", "Bob,bob@example.org"], [("", "Ada"), BOB]),
            (["email,name", ",", " , ", '"",""', "bob@example.org,Bob"], [BOB]),
            (["email,name", "bob@example.org,Bob, "], [BOB]),
            (["bob@example.org", "ada@example.org,Ada"], [("bob@example.org", ""), ADA]),
            (["ada@example.org,Ada", "bob@example.org,Bob", "c@example.org,S, C"], [ADA, BOB]),
            # Spaces between a comma and a quotation mark are accepted.
            (
                ["email, name", '"ada@example.org", "Smith, Ada"'],
                [("ada@example.org", "Smith, Ada")],
            ),
            (
                ['email,"name"  ', 'ada@example.org, "Smith, ""Ada"""  '],
                [("ada@example.org", 'Smith, "Ada"')],
            ),
            (["email,name", 'ada@example.org,Ada "Nan" W'], [("ada@example.org", 'Ada "Nan" W')]),
        ],
    )
    def test_rows_with_another_number_of_columns_are_read(
        self, rows: list[str], found: list[tuple[str, str]]
    ) -> None:
        description, got = read(lines(*rows))
        assert got == found
        assert unused_sentence(description) == ""
        assert description.examples[0] in [
            ", ".join(filter(None, row)) for row in found[-1:] + found[:1]
        ]


class TestLinesAndQuotationMarks:
    def test_a_byte_order_mark_may_be_there_twice(self) -> None:
        description, found = read('\ufeff\ufeff"email","name"\nada@example.org,Ada\n')
        assert (description.used_columns["email"], found) == (["“email”"], [ADA])

    def test_lines_put_back_keep_their_order(self) -> None:
        content = lines(
            "email,name,more",
            'ada@example.org,"Ada',
            'bob@example.org",y,"Bob',
            'Smith"',
            "carl@example.org,Carl",
        )

        reason = refuse("quote_closed_in_another_row")
        assert rows_of(content) == [
            BadRow(2, 'ada@example.org,"Ada', reason),
            Row(3, 'bob@example.org"', ("y",)),
            Row(5, "carl@example.org", ("Carl",)),
        ]

    def test_a_line_break_after_a_quoted_address_belongs_to_it(self) -> None:
        assert rows_of('email,name\n"ada@example.org\n",Ada\n') == [
            Row(2, "ada@example.org\n", ("Ada",))
        ]

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
    def test_a_quotation_with_other_rows_inside_is_rejected(self, end: str) -> None:
        rows = ["email,name", 'ada@example.org,"Ada', "bob@example.org,Bob", 'cy@example.org,"', ""]
        assert Row(3, BOB[0], BOB[1:]) in rows_of(end.join(rows))

    def test_a_field_over_several_lines_may_be_too_long(self) -> None:
        long = "x" * (LONGEST_LINE - 100)
        first, *_ = rows_of(lines("email,name", f'ada@example.org,"{long}', long, f'{long}"'))
        assert isinstance(first, BadRow)
        assert first.reason == refuse("field_of_row_too_long")


class TestAddressesAsTheyAreCopied:
    """Names with addresses as mail programs copy them: `Ada <ada@example.org>`."""

    @pytest.mark.parametrize(
        ("copied", "column", "name"),
        [
            ("<ada@example.org>", "", ""),
            ("Ada Whitlock <ada@example.org>", "", "Ada Whitlock"),
            ('"Ada Whitlock" <ada@example.org>', "", "Ada Whitlock"),
            ("'Ada' < mailto:ada@example.org >", "", "Ada"),
            ("mailto:ada@example.org", "", ""),
            ("\u202dAda <\u200emailto:\u200bada@example.org\u200f>\u202c", "", "Ada"),
            ("A. W. <ada@example.org>", "Ada", "Ada"),  # a column for the full name comes first
        ],
    )
    def test_address_and_name_are_extracted(self, copied: str, column: str, name: str) -> None:
        assert validate_row(Row(2, copied, (column,))) == Row(2, "ada@example.org", (name,))

    @pytest.mark.parametrize("copied", ["Ada <ada at example.org>", "Ada <ada@nowhere>"])
    def test_an_invalid_address_in_brackets_is_rejected_unchanged(self, copied: str) -> None:
        refused = validate_row(Row(2, copied, ("",)))
        assert isinstance(refused, RejectedRow)
        assert refused.email == copied


# Files that are not lists of readers, with a part of their error.
NO_LISTS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "The file is empty. Homing expects one reader per line"),
    "blank lines": (b"\n\n  \n", "The file is empty"),
    "a workbook": (
        packed({"xl/sharedStrings.xml": "<sst><si><t>ada@example.org</t></si></sst>"}),
        "Homing cannot read this format: an Excel workbook or a ZIP archive.",
    ),
    "a PDF": (b"%PDF-1.7\nada@example.org,Ada\n", "this format: a PDF document."),
    "a gzip": (
        gzip.compress(b"email\nada@example.org\n"),
        "this format: a compressed file (gzip).",
    ),
    "a web page": (b"\n <HTML><table><tr><td>ada@example.org", "this format: a web page (HTML)."),
    "bytes": (bytes(range(256)) * 400, "this format: binary data."),
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


@pytest.mark.parametrize("kind", NO_LISTS)
def test_a_file_of_another_kind_is_refused_with_a_reason(kind: str) -> None:
    content, sentence = NO_LISTS[kind]
    with pytest.raises(UnreadableFileError) as refused:
        rows_of(content)
    assert sentence in str(refused.value)
    assert re.search("Homing expects one reader per line|“CSV UTF-8”", str(refused.value))
    assert "\n" not in str(refused.value)
