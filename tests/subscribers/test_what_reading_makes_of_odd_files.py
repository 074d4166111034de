"""Each condition by which a file is understood, at the file that needs it."""

from __future__ import annotations

import codecs
import io

import pytest

from subscribers.importing.judging import Candidate, judge
from subscribers.importing.reading import (
    LONGEST_LINE,
    BadRow,
    ReaderFile,
    Row,
    UnreadableFileError,
)
from subscribers.importing.report import LeftOut
from tests.subscribers.test_lists_in_every_dialect import read

MEGABYTE = 1024 * 1024


def rows_of(content: bytes | str) -> list[Row | BadRow]:
    """All rows, good and bad."""
    content = content.encode() if isinstance(content, str) else content
    with ReaderFile(io.BytesIO(content)) as file:
        return list(file.rows())


def lines(*rows: str) -> bytes:
    """The rows, one in each line."""
    return "".join(f"{row}\n" for row in rows).encode()


class TestTheEncoding:
    """UTF-8, UTF-16 or Windows-1252."""

    def test_the_sign_for_a_lost_letter_is_a_letter_like_others(self) -> None:
        description, found = read("ada@example.org,Zo\ufffd\n".encode())

        assert (description.encoding, found) == ("UTF-8", [("ada@example.org", "Zo\ufffd")])

    def test_a_letter_at_the_very_end_counts(self) -> None:
        description, found = read(b"ada@example.org,Ada\nbob@example.org,B\xf3")

        assert description.encoding == "Windows-1252"
        assert found[-1] == ("bob@example.org", "Bó")

    def test_zeros_in_the_middle_do_not_make_utf_16(self) -> None:
        content = b"ada@example.org,Ada\n" + bytes(1000) + b"\nbob@example.org,Bob\n"

        description, found = read(content)

        assert description.encoding == "UTF-8"
        assert found == [("ada@example.org", "Ada"), ("bob@example.org", "Bob")]

    @pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
    def test_a_header_alone_tells_the_order_of_bytes(self, codec: str) -> None:
        description, found = read("email,name\n".encode(codec))

        assert (description.encoding, found) == ("UTF-16", [])

    @pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
    def test_ideographs_that_are_letters_the_wrong_way_round_do_not_turn_it(
        self, codec: str
    ) -> None:
        name = "一" * 60

        assert read(f"ada@example.org,{name}\n".encode(codec))[1] == [("ada@example.org", name)]

    @pytest.mark.parametrize(
        ("mark", "codec"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")]
    )
    def test_a_mark_is_enough_where_hardly_anything_is_ascii(self, mark: bytes, codec: str) -> None:
        name = "王" * 300

        description, found = read(mark + f"ada@example.org,{name}\n".encode(codec))

        assert (description.encoding, found) == ("UTF-16", [("ada@example.org", name)])

    def test_a_byte_of_another_encoding_is_remembered_to_the_end(self) -> None:
        plain = b"ada@example.org,Ada\n" * (MEGABYTE // 20 + 1)

        description, _ = read(b"h@example.org,H\x8fl\x8fne\n" + plain + b"z@example.org,Zo\xeb\n")

        assert "stand for nothing in Windows-1252" in description.doubt

    def test_only_the_beginning_of_a_file_tells_other_formats(self) -> None:
        row = b"ada@example.org,Ada\n"
        filler = row * (MEGABYTE // len(row) - 1)
        filler += b"\n" * (MEGABYTE - len(filler))

        assert rows_of(filler + b"%PDF-1.7,Ada\n")[-1].line == filler.count(b"\n") + 1


class TestTheDelimiter:
    """Comma, semicolon, tab or bar."""

    @pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"'])
    @pytest.mark.parametrize("blank", [0, 2])
    @pytest.mark.parametrize("header", ["email;name", ""])
    def test_a_first_line_that_states_it_is_no_row(
        self, first: str, blank: int, header: str
    ) -> None:
        above = [*[""] * blank, first, *([header] if header else [])]

        description, _ = read(content := lines(*above, "ada@example.org;Ada, B"))

        assert rows_of(content) == [Row(len(above) + 1, "ada@example.org", "Ada, B")]
        assert description.first_row == ("ada@example.org", "Ada, B")

    def test_a_sign_that_is_no_delimiter_is_not_stated(self) -> None:
        assert rows_of(lines("sep=#", "email,name", "ada@example.org,Ada")) == [
            BadRow(1, "sep=#", "The row is above the header."),
            Row(3, "ada@example.org", "Ada"),
        ]

    def test_a_header_alone_tells_it(self) -> None:
        assert read(b"email;name\n")[0].delimiter == "semicolons"

    def test_known_words_far_down_do_not_tell_it(self) -> None:
        content = lines(*[f"r{number}@example.org;to|to|to" for number in range(30)])

        assert read(content)[0].delimiter == "semicolons"

    def test_one_line_with_many_addresses_does_not_tell_it(self) -> None:
        many = ",".join(f"{letter}@example.org" for letter in "stuvw")
        content = lines("ada@example.org;Ada", "bob@example.org;Bob", f"cy@example.org;x,{many}")

        assert read(content)[0].delimiter == "semicolons"

    def test_blanks_around_addresses_do_not_hide_it(self) -> None:
        assert read(lines(" ada@example.org ; Ada", " bob@example.org ; Bob"))[0].delimiter == (
            "semicolons"
        )

    def test_where_only_one_row_has_two_columns_it_is_named(self) -> None:
        rows = [*[f"r{number}@example.org" for number in range(3)], "ada@example.org,Ada"]

        assert read(lines(*rows))[0].delimiter == "commas"


class TestTheHeader:
    """Which row it is."""

    @pytest.mark.parametrize(("above", "has_header"), [(10, True), (11, False)])
    def test_it_stands_below_ten_lines_at_most(self, above: int, has_header: bool) -> None:
        content = lines(*["Readers of 2024"] * above, "email,name", "ada@example.org,Ada")

        assert read(content)[0].has_header is has_header

    def test_it_does_not_stand_below_an_address(self) -> None:
        content = lines("ada@example.org,Ada", "email,name", "bob@example.org,Bob")

        assert [row.line for row in rows_of(content)] == [1, 2, 3]

    def test_of_two_that_are_alike_the_first_is_it(self) -> None:
        assert rows_of(lines("email,name", "email,name", "ada@example.org,Ada")) == [
            Row(2, "email", "name"),
            Row(3, "ada@example.org", "Ada"),
        ]

    @pytest.mark.parametrize("gap", [400, 9_000])
    def test_addresses_far_below_the_first_words_are_found(self, gap: int) -> None:
        content = lines("Our readers", *[""] * gap, "ada@example.org;Ada")

        assert read(content)[1][-1] == ("ada@example.org", "Ada")

    @pytest.mark.parametrize(
        "content",
        [
            lines("Our readers", *[""] * 10_001, "ada@example.org"),
            lines(*["x" * 60_000] * 40, "ada@example.org"),
        ],
        ids=["lines", "characters"],
    )
    def test_the_search_for_them_ends(self, content: bytes) -> None:
        with pytest.raises(UnreadableFileError, match="There is no address in the first lines"):
            rows_of(content)


class TestTheColumns:
    """Where the address stands, where the name, and how many there are."""

    @pytest.mark.parametrize(
        "header", ["Referrer,Contact,Name", "Contact,Email,Name"], ids=["perhaps", "for sure"]
    )
    def test_of_two_with_addresses_the_header_chooses(self, header: str) -> None:
        content = lines(header, "boss@example.org,ada@example.org,Ada")

        assert read(content)[1] == [("ada@example.org", "Ada")]

    def test_the_column_of_addresses_is_not_that_of_names(self) -> None:
        assert read(lines("Reader,Town", "ada@example.org,Wick"))[1] == [("ada@example.org", "")]
        bad = ["nowhere", "nirgends", "nulle part"]
        assert read(lines(*bad, "ada@example.org"))[1] == [
            *((word, "") for word in bad),
            ("ada@example.org", ""),
        ]

    @pytest.mark.parametrize(
        ("rows", "names"),
        [
            # One row whose halves are alike does not make the one column the whole name.
            (["Whitlock;Ada", "Ada;Ada"], ["Ada Whitlock", "Ada Ada"]),
            (["Whitlock;", "Reed;Bob"], ["Whitlock", "Bob Reed"]),
            (["Whitlock;Ada", ";Bob"], ["Ada Whitlock", "Bob"]),
        ],
    )
    def test_two_halves_of_a_name(self, rows: list[str], names: list[str]) -> None:
        content = lines(
            "Mail;Name;Vorname",
            *[f"r{number}@example.org;{row}" for number, row in enumerate(rows)],
            "short@example.org",
        )

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

    @pytest.mark.parametrize("copied", ["Ada < ada@example.org >", "Bob <mailto:bob@example.org>"])
    def test_brackets_do_not_hide_an_address(self, copied: str) -> None:
        assert read(lines(copied))[1] == [(copied, "")]

    def test_a_row_may_end_before_the_column_of_addresses(self) -> None:
        description, found = read(lines("name,email", "Ada", "Bob,bob@example.org"))

        assert found == [("", "Ada"), ("bob@example.org", "Bob")]
        assert description.first_row == ("bob@example.org", "Bob")

    def test_a_row_of_empty_fields_or_blanks_is_none(self) -> None:
        description, found = read(lines("email,name", ",", " , ", "ada@example.org,Ada"))

        assert found == [("ada@example.org", "Ada")]
        assert description.first_row == ("ada@example.org", "Ada")

    def test_a_blank_last_field_is_no_column(self) -> None:
        assert read(lines("email,name", "ada@example.org,Ada, "))[0].not_used == ""

    def test_of_equally_many_rows_the_wider_ones_tell_how_many_there_are(self) -> None:
        assert read(lines("bob@example.org", "ada@example.org,Ada"))[1] == [
            ("bob@example.org", ""),
            ("ada@example.org", "Ada"),
        ]

    def test_one_row_that_is_too_wide_does_not_tell_how_many_there_are(self) -> None:
        good = ["ada@example.org,Ada", "bob@example.org,Bob"]

        assert len(read(lines(*good, "carl@example.org,Smith, Carl"))[1]) == 2


class TestLinesAndQuotationMarks:
    """Where a row ends."""

    def test_a_blank_line_long_after_a_long_line_keeps_its_number(self) -> None:
        content = "email\n" + "x" * 2 * LONGEST_LINE + "\rada@example.org\r\n\nbob@example.org\n"

        assert [row.line for row in rows_of(content)] == [2, 3, 5]

    def test_lines_that_were_taken_back_come_in_their_order(self) -> None:
        content = lines(
            "email,name,more",
            'ada@example.org,"Ada',
            'bob@example.org",y,"Bob',
            'Smith"',
            "carl@example.org,Carl",
        )

        assert rows_of(content) == [
            BadRow(
                2,
                'ada@example.org,"Ada',
                "A quotation mark is opened here and closed in another row.",
            ),
            Row(3, 'bob@example.org"', "y"),
            Row(5, "carl@example.org", "Carl"),
        ]

    def test_a_line_break_after_a_quoted_address_belongs_to_it(self) -> None:
        assert rows_of('email,name\n"ada@example.org\n",Ada\n') == [
            Row(2, "ada@example.org\n", "Ada")
        ]

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
    def test_a_quotation_that_holds_other_rows_is_none_whatever_ends_a_line(self, end: str) -> None:
        content = end.join(
            ["email,name", 'ada@example.org,"Ada', "bob@example.org,Bob", 'cy@example.org,"', ""]
        )

        assert Row(3, "bob@example.org", "Bob") in rows_of(content)

    def test_a_field_over_several_lines_may_be_too_long(self) -> None:
        long = "x" * (LONGEST_LINE - 100)
        first, *_ = rows_of(lines("email,name", f'ada@example.org,"{long}', long, f'{long}"'))

        assert isinstance(first, BadRow)
        assert first.reason == "A field is too long."


class TestAddressesAsTheyAreCopied:
    """`Ada Whitlock <ada@example.org>`, as mail programs have it."""

    @pytest.mark.parametrize(
        ("copied", "name"),
        [
            ("<ada@example.org>", ""),
            ("Ada Whitlock <ada@example.org>", "Ada Whitlock"),
            ('"Ada Whitlock" <ada@example.org>', "Ada Whitlock"),
            ("'Ada' < mailto:ada@example.org >", "Ada"),
            ("mailto:ada@example.org", ""),
        ],
    )
    def test_address_and_name_are_taken_out(self, copied: str, name: str) -> None:
        assert judge(Row(2, copied, "")) == Candidate(2, "ada@example.org", name)

    def test_a_name_of_its_own_goes_first(self) -> None:
        assert judge(Row(2, "A. W. <ada@example.org>", "Ada")) == Candidate(
            2, "ada@example.org", "Ada"
        )

    def test_what_is_no_address_inside_either_is_rejected_as_it_stands(self) -> None:
        refused = judge(Row(2, "Ada <ada at example.org>", ""))

        assert isinstance(refused, LeftOut)
        assert refused.email == "Ada <ada at example.org>"

        refused = judge(Row(2, "Ada <ada@nowhere>", ""))
        assert isinstance(refused, LeftOut)
        assert refused.email == "Ada <ada@nowhere>"
