"""The rejected rows as a CSV file."""

import csv
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db.models.functions import Now

from subscribers.importing.expire_uploads import old_rejected_rows
from subscribers.models import SubscriberImport
from tests.publishing.author_browser import WindowOf
from tests.subscribers.conftest import FileOf, ImportSubscribers
from tests.subscribers.factories import SOME_DAY, SubscriberFactory, the_list
from tests.subscribers.importing.import_browser import IMPORTS, someone

pytestmark = pytest.mark.django_db


@pytest.fixture
def rejects(tmp_path: Path) -> Path:
    return tmp_path / "rejects.csv"


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_the_file_contains_every_rejected_row(
    file_of: FileOf, import_subscribers: ImportSubscribers, rejects: Path
) -> None:
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    path = file_of("ada@example.org,Ada", "left@example.org,", 'héé@x.org,"B', ",Nobody")
    link = rejects.with_name("link.csv")
    link.symlink_to(rejects)
    import_subscribers(path, "--rejects", str(link))
    assert link.is_symlink()
    assert rows_of(rejects) == [
        ["line", "reason", "email", "name"],
        ["4", "A quotation mark opens here and never closes.", 'héé@x.org,"B'],
        ["5", "The address is missing.", "", "Nobody"],
    ]


@pytest.mark.parametrize("options", [("--dry-run",), ()])
def test_dry_runs_and_repeated_imports_write_rejects(
    file_of: FileOf, import_subscribers: ImportSubscribers, rejects: Path, options: tuple[str, ...]
) -> None:
    path = file_of("nowhere,Ada")
    import_subscribers(path, *options)
    import_subscribers(path, *options, "--rejects", str(rejects))
    assert len(rows_of(rejects)) == 2


def test_a_failed_import_keeps_the_earlier_rejects_file(
    file_of: FileOf, import_subscribers: ImportSubscribers, rejects: Path, tmp_path: Path
) -> None:
    rejects.write_text("yesterday's")
    path = file_of(content=b"%PDF-1.7\nemail,name\n")
    with pytest.raises(CommandError):
        import_subscribers(path, "--rejects", str(rejects))
    assert rejects.read_text() == "yesterday's"
    assert sorted(tmp_path.iterdir()) == [path, rejects]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere/rejects.csv", "No such file"),
        ("x" * 300, "File name too long"),
        ("folder", "it is a folder"),
        ("pipe", "it is not a regular file"),
    ],
)
def test_an_unwritable_rejects_file_prevents_the_import(
    file_of: FileOf, import_subscribers: ImportSubscribers, tmp_path: Path, name: str, why: str
) -> None:
    path, folder, pipe = file_of("ada@example.org,Ada"), tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    with pytest.raises(CommandError, match=f"Homing cannot write .*: {why}"):
        import_subscribers(path, "--rejects", str(tmp_path / name))
    assert the_list() == {}
    assert sorted(tmp_path.iterdir()) == [folder, path, pipe]
    assert pipe.is_fifo()


def test_the_rejects_file_never_replaces_the_imported_file(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    path = file_of("nowhere,Ada")
    with pytest.raises(CommandError, match="names the file to import"):
        import_subscribers(path, "--rejects", str(path))
    assert path.read_text() == "email,name\nnowhere,Ada\n"


def test_deleted_rows_are_explained_in_file_and_page(
    file_of: FileOf, import_subscribers: ImportSubscribers, rejects: Path
) -> None:
    path = file_of("ada@example.org,Ada", "nowhere,Secret")
    import_subscribers(path)
    SubscriberImport.objects.update(finished_at=Now() - timedelta(days=91), requested_at=SOME_DAY)
    expired = old_rejected_rows(90)
    assert expired.count() == sum(expired.delete()) == 1
    sentence = (
        "Rejected rows are deleted 90 days after the import. There were 1. To correct them, use "
        "the file that you imported."
    )

    import_subscribers(path, "--rejects", str(rejects))

    assert rows_of(rejects) == [["line", "reason"], ["", sentence]]
    record = SubscriberImport.objects.get()
    page = WindowOf(someone("edith", "manage_readers")).get(f"{IMPORTS}{record.pk}/")
    assert sentence in page.words
    assert "rejects.csv" not in page.html
