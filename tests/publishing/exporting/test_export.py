"""An export has all data, and an incomplete file never appears as an export."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from delivery.models import Edition
from publishing.exporting import export_task
from publishing.models import Export, ExportPiece, Snippet
from subscribers.models import ReaderFieldDefinition, Subscriber, Tag
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import WindowOf
from tests.subscribers.factories import SuppressionFactory

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/newsletters/download/"


def never() -> bool:
    return False


@pytest.fixture
def manager(new_author: Callable[..., Any]) -> WindowOf:
    return WindowOf(new_author("manager", "manage_readers"))


def rows_of(archive: zipfile.ZipFile, path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(archive.read(path).decode())))


def export_with_command(folder: Path) -> zipfile.ZipFile:
    call_command("export_all", str(folder / "all.zip"), verbosity=0)
    return zipfile.ZipFile(folder / "all.zip")


def test_the_archive_has_readers_issues_and_deliveries(edition: Edition, tmp_path: Path) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    tag = Tag.objects.create(name="Birds; and fish")
    Subscriber.objects.filter(name="Ada").update(fields={"city": "=Łódź"}, tags=[tag.pk])
    Snippet.objects.create(name="Signature", text="Edith")
    SuppressionFactory(address_key="gone@example.org")
    SuppressionFactory(address_key="back@example.org", lifted_at=timezone.now())
    with export_with_command(tmp_path) as archive:
        assert archive.testzip() is None
        ada, *others = rows_of(archive, "readers.csv")
        assert (ada["email"], ada["city"], ada["tags"]) == (
            "ada@posthouse.example",
            "'=Łódź",
            '["Birds; and fish"]',
        )
        assert len(others) == 2
        assert [row["email"] for row in rows_of(archive, "suppressions.csv")] == [
            "gone@example.org"
        ]
        assert json.loads(archive.read("snippets.json"))[0]["text"] == "Edith"
        folder = f"issues/{edition.issue.slug}/version-1"
        assert len(rows_of(archive, f"{folder}/deliveries.csv")) == 3
        assert json.loads(archive.read(f"{folder}/issue.json"))["counts"]["waiting"] == 3
        assert archive.read(f"{folder}/letter.html").decode() == edition.html_content
        assert json.loads(archive.read("homing.json"))["rows"]["readers.csv"] == 3


def test_a_failed_command_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="it is a folder"):
        call_command("export_all", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_page_offers_the_file_that_a_worker_wrote(
    manager: WindowOf, three_readers: list[Subscriber]
) -> None:
    assert "There is no export yet." in manager.get(PAGE).words
    manager.post(PAGE)
    manager.post(PAGE)
    assert "waiting for a worker" in manager.get(PAGE).words
    export = Export.objects.get()
    assert export_task.run_next_export(never)
    assert "Download" in manager.get(PAGE).words
    answer = manager.get(f"{PAGE}{export.pk}/").answer
    content = b"".join(answer.streaming_content)
    assert len(content) == int(answer.headers["Content-Length"])
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None


def test_a_failed_export_says_so_and_can_be_requested_again(manager: WindowOf) -> None:
    Export.objects.create(state="failed", finished_at=timezone.now())
    assert "started many times and never finished" in manager.get(PAGE).words
    manager.post(PAGE)
    assert "and none is running. Ask an operator to run: ./homing deliver" in (
        manager.get(PAGE).words
    )


def test_an_interrupted_export_begins_anew(
    manager: WindowOf, three_readers: list[Subscriber]
) -> None:
    manager.post(PAGE)
    looks = iter([False] * 3)
    assert export_task.run_next_export(lambda: next(looks, True))
    assert Export.objects.get().state == "waiting"
    # Simulate a killed worker, whose lease and whose pieces of the file are still stored.
    Export.objects.update(state="running", lease_until=timezone.now())
    ExportPiece.objects.create(export=Export.objects.get(), number=0, content=b"half")
    assert export_task.run_next_export(never)
    export = Export.objects.get()
    archive = io.BytesIO(b"".join(export_task.stored_pieces(export)))
    assert zipfile.ZipFile(archive).testzip() is None


def test_a_newer_export_replaces_the_older_file(manager: WindowOf) -> None:
    for _ in range(2):
        manager.post(PAGE)
        export_task.run_next_export(never)
    older, newer = Export.objects.order_by("pk")
    assert (older.state, newer.state) == ("expired", "finished")
    assert not ExportPiece.objects.filter(export=older).exists()
    assert manager.get(f"{PAGE}{older.pk}/").status == 302


def test_a_program_requests_and_downloads_an_export(new_author: Callable[..., Any]) -> None:
    program = Program(new_author("manager", "manage_readers"))
    answer = program.post("/exports/", None)
    assert (answer.status_code, answer.json()["state"]) == (201, "waiting")
    url = f"/exports/{answer.json()['export']}/"
    assert program.get(f"{url}homing.zip").status_code == 404
    export_task.run_next_export(never)
    assert program.get(url).json()["state"] == "finished"
    content = b"".join(program.get(f"{url}homing.zip").streaming_content)
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
