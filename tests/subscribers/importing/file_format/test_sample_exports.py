"""Files as programs and authors write them, and unreadable files."""

import os
from pathlib import Path

import pytest
from django.core.management import CommandError

from subscribers.importing.accept_upload import Statement
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.split_records import MAX_LINES_IN_A_ROW
from subscribers.importing.import_file import import_file
from subscribers.importing.import_task import CHUNK
from subscribers.models import RejectedRow, Subscriber, SubscriberImport
from tests.subscribers.conftest import FileOf, ImportRows, ImportSubscribers

pytestmark = pytest.mark.django_db


def names() -> dict[str, str]:
    return dict(Subscriber.objects.values_list("email", "name"))


def rejected() -> list[tuple[int, str]]:
    return list(RejectedRow.objects.order_by("line").values_list("line", "reason"))


@pytest.mark.parametrize("between", [1, MAX_LINES_IN_A_ROW + 5])
def test_addresses_in_unused_columns_are_not_lost(import_rows: ImportRows, between: int) -> None:
    rows = [f"reader{number}@example.org,likes larks" for number in range(between)]
    import_rows(
        'ada@example.org,"likes swifts', *rows, 'bob@example.org,likes both"', header="email,remark"
    )
    assert [line for line, _ in rejected()] == [2]
    assert len(names()) == between + 1


def test_a_long_remark_in_quotation_marks_ends_after_40_lines(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    def with_remark_of(lines: int) -> Path:
        remark = "\n".join(["likes swifts"] * lines)
        return file_of(f'ada@example.org,"{remark}"', header="email,remark")

    longest = import_subscribers(with_remark_of(MAX_LINES_IN_A_ROW))
    longer = import_subscribers(with_remark_of(MAX_LINES_IN_A_ROW + 1), "--dry-run")

    assert longest.counts == {"added": 1}
    assert longer.counts == {"rejected": MAX_LINES_IN_A_ROW + 1}


def test_a_bad_row_is_shown_short_and_printable(import_rows: ImportRows) -> None:
    printed = import_rows("\x1b[2Jnowhere" + "x" * 5000 + ",Ada")
    assert "\x1b" not in printed.text
    assert len(RejectedRow.objects.get().email) == 320


@pytest.fixture
def long_list(file_of: FileOf) -> Path:
    return file_of(*[f"reader{number}@example.org,Reader" for number in range(CHUNK + 1)])


def test_a_dry_run_reports_a_file_that_changes(long_list: Path) -> None:
    def save_the_file_again(_: SubscriberImport) -> None:
        with long_list.open("a") as file:
            file.write("one.more@example.org,Reader\n")

    with pytest.raises(UnreadableFileError, match="changed while Homing read it"):
        import_file(long_list, stated=Statement(), dry_run=True, on_progress=save_the_file_again)


def test_a_bad_path_is_named(tmp_path: Path, import_subscribers: ImportSubscribers) -> None:
    reading, writing = os.pipe()
    try:
        for path, why in (
            (tmp_path / "none.csv", r"Homing cannot open .*none\.csv: No such file"),
            (tmp_path, "Homing cannot open .*: Is a directory"),
            (Path(f"/dev/fd/{reading}"), "is not a regular file"),
        ):
            with pytest.raises(CommandError, match=why):
                import_subscribers(path)
    finally:
        os.close(reading)
        os.close(writing)
