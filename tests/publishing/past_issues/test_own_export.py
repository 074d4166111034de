"""The complete export of a site brings its issues to another site."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from delivery.models import Delivery
from delivery.queue.edition_control import cancel
from publishing.archive.archived_editions import published_editions
from publishing.content.edition_content import Content
from publishing.images.store_image import in_html, store_image
from publishing.models import Issue, UploadedImage
from subscribers.models import ReaderFieldDefinition
from tests.publishing.author_browser import WindowOf
from tests.publishing.past_issues.sample_exports import SWIFTS, substack, zipped
from tests.publishing.past_issues.test_move_in import letter_of, move
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import tomorrow

pytestmark = pytest.mark.django_db(transaction=True)


def whole_archive() -> list[tuple[Any, ...]]:
    return [
        (
            *(edition.issue_id, edition.issue.slug, edition.issue.unlisted, edition.title),
            *(edition.preview_text, edition.reply_to, edition.html_content, edition.text_content),
            *(edition.merge_fields, edition.first_public_at),
        )
        for edition in published_editions()
    ]


def all_pictures() -> list[tuple[Any, ...]]:
    columns = ("id", "content_type", "width", "height", "content")
    return [
        (*facts, bytes(content)) for *facts, content in UploadedImage.objects.values_list(*columns)
    ]


@pytest.fixture
def export(author: Any, three_readers: Any, tmp_path: Path) -> Path:
    """Export a site with corrected, unlisted, scheduled and cancelled issues."""
    ReaderFieldDefinition.objects.create(key="city", label="City", fallback="town", position=1)
    image = store_image(SWIFTS, "swifts.png", by=author.pk)
    html = (
        f'<p style="color: red">{{{{ name|you }}}} in {{{{ city }}}}</p>{in_html(image, "Swifts")}'
    )
    first = publish(
        author.pk, "1", Content(title="Swifts", html="<p>Old</p>", text="Old"), hold_s=0
    ).edition
    corrected = Content(
        title="Swifts, {{ name }}",
        preview_text="They left.",
        reply_to="swifts@posthouse.example.org",
        html=html,
        text="Plain {{ city }}",
    )
    publish(author.pk, "2", corrected, hold_s=0, issue=first.issue_id, version=2)
    publish(author.pk, "3", Content(title="Text", text="Only text"), hold_s=0, archive="unlisted")
    publish(author.pk, "4", Content(title="Later", text="Not yet"), hold_s=0, at=tomorrow("UTC"))
    called_back = publish(author.pk, "5", Content(title="Never", text="Wrong"), hold_s=60).edition
    cancel(called_back.pk)
    return exported(tmp_path)


def exported(folder: Path) -> Path:
    path = folder / "homing.zip"
    call_command("export_all", str(path), verbosity=0)
    return path


def empty_tables() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE issue, moved_issue, edition, batch, delivery, uploaded_image CASCADE"
        )


def test_issues_come_back_as_they_were(
    author: Any, export: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = whole_archive(), all_pictures()
    assert len(before[0]) == 2
    empty_tables()
    for known in (0, 2):
        call_command("import_issues", str(export), "--author", author.username)
        answer = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (answer.get("moved", 0), answer.get("known", 0)) == (2 - known, known)
        assert answer["draft"] == 2
        assert (whole_archive(), all_pictures()) == before
    assert not Delivery.objects.exists()
    assert set(Issue.objects.values_list("moved_from", flat=True)) == {"homing"}


def test_a_site_knows_its_own_issues(author: Any, export: Path) -> None:
    before = whole_archive(), all_pictures()
    assert move(export.read_bytes(), author).counts == {"known": 4}
    assert (whole_archive(), all_pictures()) == before


def test_an_issue_of_another_product_comes_in_once(author: Any, tmp_path: Path) -> None:
    move(substack(), author)
    path = exported(tmp_path)
    for first, second in ((path.read_bytes(), substack()), (substack(), path.read_bytes())):
        empty_tables()
        assert move(first, author).counts["moved"] == 1
        assert move(second, author).counts == {"known": 1}


def test_a_field_that_is_unknown_here_shows_its_fallback(
    author: Any, export: Path, public_window: WindowOf
) -> None:
    empty_tables()
    ReaderFieldDefinition.objects.all().delete()
    move(export.read_bytes(), author)
    assert "you in town" in public_window.get("/archive/swifts/").words


def test_a_picture_with_another_id_here_gets_its_address(author: Any, export: Path) -> None:
    [[old, *_]] = all_pictures()
    with zipfile.ZipFile(export) as archive:
        picture = archive.read(f"pictures/{old}.png")
    empty_tables()
    here = store_image(picture, "same.png", by=author.pk)
    move(export.read_bytes(), author)
    assert UploadedImage.objects.count() == 1
    assert f'src="/pictures/{here.pk}.png"' in letter_of("swifts")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"homing.json": '{"format": 99}'}, "other_format"),
        ({"homing.json": "["}, "other_format"),
        ({"homing.json": '{"format": 1}', "x/issues/a/version-1/issue.json": "{}"}, "empty"),
    ],
)
def test_another_archive_is_refused(author: Any, files: dict[str, Any], code: str) -> None:
    assert move(zipped(files), author).error["code"] == code


def test_issues_whose_ids_begin_alike_can_want_one_address(author: Any) -> None:
    keys = [f"12345678-1234-1234-1234-12345678900{n}" for n in range(3)]
    row = {"public": True, "title": "A", "slug": "a" * 80, "published_at": "2024-01-02T03:04:05Z"}
    files = {"homing.json": '{"format": 1}'}
    for key in keys:
        files[f"issues/{key}/version-1/issue.json"] = json.dumps({**row, "issue": key})
        files[f"issues/{key}/version-1/letter.txt"] = "A"
    assert move(zipped({**files}), author).counts == {"moved": 3, "other_address": 2}


def test_a_damaged_issue_is_left_out(author: Any) -> None:
    key = "12345678-1234-1234-1234-123456789abc"
    good = {"issue": key, "public": True, "title": "A", "published_at": "2024-01-02T03:04:05Z"}
    rows = {"no-id": {"public": True}, "list": [], "no-letter": good}
    files = {f"issues/{name}/version-1/issue.json": json.dumps(row) for name, row in rows.items()}
    moved = move(zipped({"homing.json": '{"format": 1}', **files}), author)
    assert moved.counts == {"unreadable": 1, "no_letter": 1}


def test_an_issue_without_a_page_comes_back_without_one(
    author: Any, tmp_path: Path, public_window: WindowOf
) -> None:
    secret = Content(title="For members", html="<p>Only you.</p>", text="Only you.")
    first = publish(author.pk, "1", secret, hold_s=0, archive="none").edition
    path = exported(tmp_path)
    empty_tables()

    assert move(path.read_bytes(), author).counts == {"moved": 1}
    issue = Issue.objects.get()
    assert (issue.pk, issue.visibility, issue.slug) == (first.issue_id, "none", first.issue.slug)
    assert public_window.get(f"/archive/{issue.slug}/").status == 404
    assert "For members" not in public_window.get("/archive/").words
