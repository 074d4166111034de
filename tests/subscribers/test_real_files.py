"""Files as programs and people write them, and files that are none to import."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError

from subscribers.importing import Progress, UnreadableFileError, import_file
from subscribers.importing.reading import MOST_LINES_IN_A_ROW
from subscribers.importing.running import PIECE
from subscribers.models import LeftOutRow, Subscriber, SubscriberImport
from tests.subscribers.conftest import Printed
from tests.subscribers.factories import the_list
from tests.subscribers.no_lists import NO_LISTS

pytestmark = pytest.mark.django_db

FileOf = Callable[..., Path]
ImportSubscribers = Callable[..., Printed]
DEMO_LIST = Path(__file__).parents[2] / "publishing" / "demo_material" / "readers.csv"


def names() -> dict[str, str]:
    """Who is on the list, by address."""
    return dict(Subscriber.objects.values_list("email", "name"))


def rejected() -> list[tuple[int, str]]:
    """The rejected rows: line and reason."""
    return list(LeftOutRow.objects.order_by("line").values_list("line", "reason"))


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"\n"])
def test_a_mark_at_the_start_line_ends_and_a_missing_last_one_make_no_difference(
    file_of: FileOf, import_subscribers: ImportSubscribers, bom: bytes, line_end: bytes, last: bytes
) -> None:
    lines = ["email,name", "ada@example.org,Nóra Żuraw", "bob@example.org,王小燕"]

    import_subscribers(file_of(content=bom + line_end.join(line.encode() for line in lines) + last))

    assert names() == {"ada@example.org": "Nóra Żuraw", "bob@example.org": "王小燕"}


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("name,email", "Ada,ada@example.org"),
        (" EMAIL , Name ", "ada@example.org,Ada"),
        ('"Email","Name"', '"ada@example.org","Ada"'),
        ("id,email,joined,name,town", "7,ada@example.org,2024-05-01,Ada,Wick"),
    ],
)
def test_columns_are_found_by_name_in_any_order_and_case_and_others_are_left_alone(
    file_of: FileOf, import_subscribers: ImportSubscribers, header: str, row: str
) -> None:
    import_subscribers(file_of(row, header=header))

    assert names() == {"ada@example.org": "Ada"}


def test_a_file_without_names_is_a_list_too(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(file_of("ada@example.org", header="email"))

    assert names() == {"ada@example.org": ""}


def test_a_row_that_ends_early_has_no_name_and_empty_columns_at_its_end_do_no_harm(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    printed = import_subscribers(file_of("ada@example.org", "bob@example.org,Bob,, "))

    assert printed.counts == {"added": 2}
    assert names() == {"ada@example.org": "", "bob@example.org": "Bob"}


def test_blank_lines_are_not_rows_but_keep_their_numbers(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    printed = import_subscribers(
        file_of("", "ada@example.org,Ada", "   ", ",", '"",""', "nowhere,Bob")
    )

    assert printed.summary["rows"] == 2
    assert [line for line, _ in rejected()] == [7]


def test_a_header_may_stand_below_blank_lines(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(file_of(",", "email,name", "ada@example.org,Ada", header=""))

    assert names() == {"ada@example.org": "Ada"}


def test_line_breaks_in_quotation_marks_belong_to_the_row_and_line_numbers_stay_right(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(
        file_of(
            '"ada@example.org","Ada',
            'Whitlock"',
            'bob@example.org,"Smith, ""Bob"""',
            "nowhere,Carl",
            'here,"neither',
            'nor there"',
            "dora@,Dora",
        )
    )

    assert names() == {"ada@example.org": "Ada Whitlock", "bob@example.org": 'Smith, "Bob"'}
    assert [line for line, _ in rejected()] == [5, 6, 8]


NEVER_CLOSED = "A quotation mark is opened here and never closed."
INSIDE = "A quotation mark stands inside a field; there it must be doubled."


@pytest.mark.parametrize(
    ("following", "reason"),
    [
        (["reader{}@example.org,Reader"] * (MOST_LINES_IN_A_ROW + 5), NEVER_CLOSED),
        (["reader{}@example.org,Reader"] * 3, NEVER_CLOSED),
        (["reader{}@example.org,Reader", 'reader{}@example.org,"Smith, Bob"'], INSIDE),
        (
            ["reader{}@example.org,Reader", 'reader{}@example.org,"'],
            "A quotation mark is opened here and closed in another row.",
        ),
    ],
    ids=["to far below", "to the end", "to the next quotation mark", "to a stray one"],
)
def test_a_quotation_mark_that_is_not_closed_costs_its_own_row_and_no_other(
    file_of: FileOf, import_subscribers: ImportSubscribers, following: list[str], reason: str
) -> None:
    rows = [row.format(number) for number, row in enumerate(following)]

    import_subscribers(file_of('ada@example.org,"Ada', *rows))

    assert rejected()[0] == (2, reason)
    good = [row for row in rows if not row.endswith(',"')]
    assert len(names()) == len(good)


@pytest.mark.parametrize("between", [1, MOST_LINES_IN_A_ROW + 5])
def test_nobody_is_lost_in_a_column_that_is_not_even_looked_at(
    file_of: FileOf, import_subscribers: ImportSubscribers, between: int
) -> None:
    rows = [f"reader{number}@example.org,likes larks" for number in range(between)]

    import_subscribers(
        file_of(
            'ada@example.org,"likes swifts',
            *rows,
            'bob@example.org,likes both"',
            header="email,remark",
        )
    )

    assert [line for line, _ in rejected()] == [2]
    assert len(names()) == between + 1


def test_a_long_remark_in_quotation_marks_ends_after_40_lines(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    def with_remark_of(lines: int) -> Path:
        remark = "\n".join(["likes swifts"] * lines)
        return file_of(f'ada@example.org,"{remark}"', header="email,remark")

    longest = import_subscribers(with_remark_of(MOST_LINES_IN_A_ROW))
    longer = import_subscribers(with_remark_of(MOST_LINES_IN_A_ROW + 1), "--dry-run")

    assert longest.counts == {"added": 1}
    assert longer.counts == {"rejected": MOST_LINES_IN_A_ROW + 1}


def test_quotation_marks_inside_a_plain_field_are_part_of_it(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(file_of('ada@example.org,Ada "Nan" Whitlock'))

    assert names() == {"ada@example.org": 'Ada "Nan" Whitlock'}


def test_what_is_shown_of_a_bad_row_is_short_and_free_of_control_characters(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    printed = import_subscribers(file_of("\x1b[2Jnowhere" + "x" * 5000 + ",Ada"))

    assert "\x1b" not in printed.text
    assert len(LeftOutRow.objects.get().email) == 320


@pytest.mark.parametrize("kind", NO_LISTS)
def test_a_file_that_is_no_list_is_refused_with_a_sentence_and_nothing_changes(
    file_of: FileOf, import_subscribers: ImportSubscribers, kind: str
) -> None:
    content, sentence = NO_LISTS[kind]

    with pytest.raises(CommandError) as refused:
        import_subscribers(file_of(content=content), "--confirmed")

    assert sentence in str(refused.value)
    assert "expected is a list" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert the_list() == {}
    assert not SubscriberImport.objects.exists()


def test_a_dry_run_of_a_file_that_changes_while_it_is_read_says_so(file_of: FileOf) -> None:
    path = file_of(*[f"reader{number}@example.org,Reader" for number in range(2 * PIECE)])

    def somebody_saves_it_again(_: Progress) -> None:
        with path.open("a") as file:
            file.write("one.more@example.org,Reader\n")

    with pytest.raises(UnreadableFileError, match="changed while it was read"):
        import_file(path, confirmed=False, dry_run=True, on_progress=somebody_saves_it_again)


def test_what_happens_to_the_file_while_it_is_imported_makes_no_difference(
    file_of: FileOf,
) -> None:
    path = file_of(*[f"reader{number}@example.org,Reader" for number in range(2 * PIECE)])

    def somebody_empties_it(_: Progress) -> None:
        path.write_text("")

    report = import_file(path, confirmed=False, on_progress=somebody_empties_it)

    assert report.counts.added == Subscriber.objects.count() == 2 * PIECE


def test_a_dry_run_shows_the_encoding_and_names_in_it(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    rows = "email,name\nada@example.org,Ada\nzofia@example.org,Zofia Żuraw\n"

    printed = import_subscribers(file_of(content=rows.encode("iso8859-2")), "--dry-run")

    assert "Read as Windows-1252, commas, with a header, LF." in printed.lines
    assert "For example: ada@example.org, Ada" in printed.lines
    assert "For example: zofia@example.org, Zofia ¯uraw" in printed.lines
    assert any("If a name looks wrong here, save the list as" in line for line in printed.lines)


def test_a_header_alone_is_a_list_of_nobody(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    assert import_subscribers(file_of()).summary["rows"] == 0


def test_a_file_that_is_missing_is_named(
    tmp_path: Path, import_subscribers: ImportSubscribers
) -> None:
    with pytest.raises(CommandError, match=r"none\.csv cannot be opened: No such file"):
        import_subscribers(tmp_path / "none.csv")


def test_a_folder_is_not_a_list(tmp_path: Path, import_subscribers: ImportSubscribers) -> None:
    with pytest.raises(CommandError, match="cannot be opened: Is a directory"):
        import_subscribers(tmp_path)


def test_a_pipe_is_refused_because_it_can_be_read_only_once(
    import_subscribers: ImportSubscribers,
) -> None:
    reading, writing = os.pipe()
    try:
        with pytest.raises(CommandError, match="is not a file"):
            import_subscribers(Path(f"/dev/fd/{reading}"))
    finally:
        os.close(reading)
        os.close(writing)


def test_the_list_of_the_demo_holds_the_flaws_of_real_files_and_5060_readers(
    import_subscribers: ImportSubscribers,
) -> None:
    printed = import_subscribers(DEMO_LIST, "--confirmed")

    assert printed.counts == {"added": 5060, "duplicates": 64, "rejected": 17}
    assert all(
        email.rpartition("@")[2].endswith(("example.org", "example.com", "example.net", ".example"))
        for email in names()
    )
