"""The rejected rows as a CSV file, to be mended."""

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError

from tests.subscribers.conftest import FileOf, ImportRows, ImportSubscribers
from tests.subscribers.factories import SubscriberFactory, the_list

pytestmark = pytest.mark.django_db


@pytest.fixture
def rejects(tmp_path: Path) -> Path:
    return tmp_path / "rejects.csv"


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_it_holds_every_rejected_row(
    file_of: FileOf, import_subscribers: ImportSubscribers, rejects: Path
) -> None:
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    path = file_of("ada@example.org,Ada", "left@example.org,", 'héé@x.org,"B', ",Nobody")
    link = rejects.with_name("link.csv")
    link.symlink_to(rejects)
    import_subscribers(path, "--rejects", str(link))
    assert link.is_symlink()
    assert rows_of(rejects) == [
        ["line", "email", "reason"],
        ["4", 'héé@x.org,"B', "A quotation mark opens here and never closes."],
        ["5", "", "The address is missing."],
    ]


@pytest.mark.parametrize("options", [("--dry-run",), ()])
def test_a_dry_run_writes_it_too_and_so_does_the_same_file_again(
    file_of: FileOf, import_subscribers: ImportSubscribers, rejects: Path, options: tuple[str, ...]
) -> None:
    path = file_of("nowhere,Ada")
    import_subscribers(path, *options)
    import_subscribers(path, *options, "--rejects", str(rejects))
    assert len(rows_of(rejects)) == 2


def test_a_spreadsheet_does_not_run_what_somebody_typed_as_an_address(
    import_rows: ImportRows, rejects: Path
) -> None:
    emails = ["=HYPERLINK('https://example.org')", "+1", "-1", "@SUM(A1)"]
    import_rows(*[f"{email},Ada" for email in emails], options=("--rejects", str(rejects)))
    assert [row[1] for row in rows_of(rejects)[1:]] == [f"'{email}" for email in emails]


def test_an_import_that_fails_leaves_what_was_there_and_nothing_beside_it(
    file_of: FileOf, import_subscribers: ImportSubscribers, rejects: Path, tmp_path: Path
) -> None:
    rejects.write_text("yesterday's")
    path = file_of(content=b"%PDF-1.7\nemail,name\n")
    with pytest.raises(CommandError):
        import_subscribers(path, "--rejects", str(rejects))
    assert rejects.read_text() == "yesterday's"
    assert sorted(tmp_path.iterdir()) == [path, rejects]


@pytest.mark.parametrize(
    ("name", "why"), [("nowhere/rejects.csv", "No such file"), ("x" * 300, "File name too long")]
)
def test_without_it_nothing_is_imported(
    import_rows: ImportRows, tmp_path: Path, name: str, why: str
) -> None:
    with pytest.raises(CommandError, match=f"Homing cannot write .*: {why}"):
        import_rows("ada@example.org,Ada", options=("--rejects", str(tmp_path / name)))
    assert the_list() == {}


@pytest.mark.parametrize(
    ("make", "why"), [(Path.mkdir, "it is a folder"), (os.mkfifo, "it is not a regular file")]
)
def test_where_something_else_has_its_name_nothing_is_imported_and_nothing_replaced(
    file_of: FileOf,
    import_subscribers: ImportSubscribers,
    rejects: Path,
    tmp_path: Path,
    make: Callable[[Path], None],
    why: str,
) -> None:
    path = file_of("ada@example.org,Ada")
    make(rejects)
    with pytest.raises(CommandError, match=f"Homing cannot write .*: {why}"):
        import_subscribers(path, "--rejects", str(rejects))
    assert the_list() == {}
    assert sorted(tmp_path.iterdir()) == [path, rejects]
    assert not rejects.is_file()


def test_it_never_replaces_the_imported_file(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    path = file_of("nowhere,Ada")
    with pytest.raises(CommandError, match="names the file to import"):
        import_subscribers(path, "--rejects", str(path))
    assert path.read_text() == "email,name\nnowhere,Ada\n"
