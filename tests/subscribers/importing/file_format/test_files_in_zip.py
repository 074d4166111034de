"""Files of readers in the ZIP files of products."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from subscribers.importing.file_format.files_in_zip import choose_lists, count_posts
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.models import ReaderFieldDefinition, SubscriberImport, Tag
from tests.publishing.author_browser import WindowOf
from tests.subscribers.conftest import FileOf, ImportSubscribers
from tests.subscribers.factories import SubscriberFactory, the_list
from tests.subscribers.importing.import_browser import IMPORTS, run_workers, someone, upload

MAILCHIMP = {
    "audience_export_1/subscribed_email_audience_export_0123456789.csv": "ada@x.org",
    "audience_export_1/unsubscribed_email_audience_export_0123456789.csv": "bob@x.org",
    "audience_export_1/cleaned_email_audience_export_0123456789.csv": "cy@x.org",
}


def packed(files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return file.getvalue()


def zipped(files: dict[str, str], header: str = "Email Address,LEID,EUID") -> bytes:
    return packed({path: f"{header}\n{address},1,2\n" for path, address in files.items()})


@pytest.mark.parametrize(
    ("paths", "chosen"),
    [
        (MAILCHIMP, sorted(MAILCHIMP)[:1] + sorted(MAILCHIMP)[:0:-1]),
        (
            ["x/posts.csv", "x/posts/1.delivers.csv", "x/email_list.swifts.csv"],
            ["x/email_list.swifts.csv"],
        ),
        (["homing.json", "readers.csv", "suppressions.csv", "consent.csv"], ["suppressions.csv"]),
        (["README.txt", "members.csv"], ["members.csv"]),
        (["posts.csv", "list.TXT"], ["list.TXT"]),
        (["xl/workbook.xml"], "file_is_zip"),
        (["posts.csv", "emails.csv"], "file_is_zip"),
        (["x/posts.csv", "x/posts/1.swifts.html"], "zip_of_posts"),
        (["a.csv", "b.csv"], "zip_with_several_lists"),
        ([f"cleaned_export_{n}.csv" for n in range(21)], "zip_with_several_lists"),
    ],
)
def test_lists_of_readers_are_chosen_by_name(paths: Any, chosen: Any) -> None:
    if isinstance(chosen, str):
        with pytest.raises(UnreadableFileError) as refused:
            choose_lists(list(paths))
        assert refused.value.code == chosen
    else:
        assert choose_lists(list(paths))[: len(chosen)] == chosen


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (zipped({"a.csv": "", "b.csv": ""}), "several lists: “a.csv”, “b.csv”. Unpack it"),
        (zipped({"homing.json": ""}), "ZIP"),
        (packed({"homing.json": "", "tags.json": '[{"name": "A"}]', "readers.csv": "no"}), "addr"),
        (zipped(MAILCHIMP)[:-30], "This ZIP file is damaged or incomplete."),
    ],
)
def test_an_unusable_zip_is_refused_with_one_sentence(
    file_of: FileOf, import_subscribers: ImportSubscribers, content: bytes, sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        import_subscribers(file_of(content=content, name="export.zip"))
    assert not SubscriberImport.objects.exists()
    assert not Tag.objects.exists()


@pytest.mark.django_db
def test_groups_of_a_zip_that_are_none_are_left_out(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    groups = [{"key": ["a"], "label": "A"}, {"key": "b", "label": "B\ud800"}, {"name": {"c": 1}}]
    tags = [*groups, *({"name": f"{n}"} for n in range(999))]
    files = {"readers.csv": "email\nada@x.org\n", "homing.json": "{}"}
    files |= {"fields.json": json.dumps(groups), "tags.json": json.dumps(tags)}
    import_subscribers(file_of(content=packed(files), name="export.zip"))
    assert set(ReaderFieldDefinition.objects.values_list("label", flat=True)) == {"A", "B?"}
    assert Tag.objects.count() == 1_000 - len(groups)


@pytest.mark.django_db(transaction=True)
def test_an_upload_checks_each_list_or_none(window: WindowOf) -> None:
    broken = zipped({**MAILCHIMP, "subscribed_email_audience_export_2.csv": "no address"}, "a,b,c")
    assert upload(window, broken, "export.zip").status == 200
    assert not SubscriberImport.objects.exists()

    answer = upload(window, zipped(MAILCHIMP), "export.zip")
    run_workers()
    page = window.get(str(answer.answer.headers["Location"]))
    assert "These lists are being checked: " in page.words
    assert set(SubscriberImport.objects.values_list("state", flat=True)) == {"checked"}
    upload(window, zipped(MAILCHIMP), "again.zip")
    assert SubscriberImport.objects.count() == 3


@pytest.mark.parametrize(
    ("paths", "posts"),
    [
        (["x/posts.csv", "x/posts/1.a.html", "x/posts/1.opens.csv", "x/posts/2.b.html"], 2),
        (["emails.csv", "emails/a.md", "images/a.png"], 1),
        (["homing.json", *(f"h/issues/swifts/version-{n}/issue.json" for n in (1, 2))], 1),
        (["posts/1.a.html", "members.csv"], 0),
    ],
)
def test_posts_are_counted_beside_their_list(paths: list[str], posts: int) -> None:
    assert count_posts(paths) == posts


SUBSTACK = {
    "posts.csv": "post_id,post_date,is_published,title\n101.swifts,,true,Swifts\n",
    "posts/101.swifts.html": "<p>The swifts left.</p>",
    "email_list.swifts.csv": "email,active_subscription,email_disabled\nada@x.org,false,false\n",
}
MOVE = "/admin/newsletters/move/issues/"


@pytest.mark.django_db(transaction=True)
def test_an_export_with_readers_and_posts_says_so(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    window = WindowOf(someone("edith", "manage_readers", "publish_edition"))
    export = packed(SUBSTACK)
    place = str(upload(window, export, "export.zip").answer.headers["Location"])
    run_workers()
    page = window.get(place)
    assert "The ZIP file also has 1 post, drafts included. Move in past issues" in page.words
    assert MOVE in page.source

    path = file_of(content=export, name="my export.zip")
    printed = import_subscribers(path, "--dry-run")
    assert f"Move them in with: ./homing import_issues '{path}'" in printed.lines[0]
    window.post(MOVE, file=SimpleUploadedFile("e.zip", export))  # type: ignore[arg-type]
    moving = window.get(MOVE)
    assert "The ZIP file also has readers: email_list.swifts.csv. Imports" in moving.words
    out = io.StringIO()
    call_command("import_issues", str(path), "--dry-run", stdout=out)
    assert "Import them with: ./homing import_subscribers '" in out.getvalue()


def mailchimp_files() -> list[tuple[str, bytes]]:
    """Return the lists of `MAILCHIMP`, each with its name."""
    header = "Email Address,LEID,EUID"
    return [
        (path.rpartition("/")[2], f"{header}\n{address},1,2\n".encode())
        for path, address in MAILCHIMP.items()
    ]


@pytest.mark.django_db(transaction=True)
def test_files_chosen_together_are_imported_with_those_who_left(window: WindowOf) -> None:
    SubscriberFactory(email="bob@x.org")

    def choose_together() -> None:
        files = [SimpleUploadedFile(*one) for one in mailchimp_files()]
        window.client.post(IMPORTS, {"file": files}, secure=True)
        run_workers()

    choose_together()
    found = list(SubscriberImport.objects.order_by("id"))
    assert [one.filename[:7] for one in found] == ["unsubsc", "cleaned", "subscri"]
    place = f"{IMPORTS}{found[-1].pk}/"
    assert "Uploaded together unsubscribed_email" in window.get(place).words

    window.post(f"{place}import/", consent="elsewhere", states_it="yes", where="Form")
    run_workers()

    assert set(SubscriberImport.objects.values_list("state", flat=True)) == {"finished"}
    assert {email: state for email, (_, state) in the_list().items()} == {
        "ada@x.org": "confirmed",
        "bob@x.org": "unsubscribed",
    }
    assert "1 address was suppressed." in window.get(place).words
    choose_together()
    assert SubscriberImport.objects.count() == 3


@pytest.mark.django_db
@pytest.mark.parametrize("order", [1, -1])
def test_the_command_imports_files_in_any_order_alike(tmp_path: Path, order: int) -> None:
    paths = []
    for name, content in mailchimp_files()[::order]:
        paths.append(tmp_path / name)
        paths[-1].write_bytes(content)
    for created in (True, False):
        out = io.StringIO()
        call_command("import_subscribers", *map(str, paths), "--confirmed", stdout=out)
        lines = [json.loads(line) for line in out.getvalue().splitlines() if line[0] == "{"]
        assert [one["created"] for one in lines] == [created] * 3
        assert [(one["added"], one["skipped"]) for one in lines] == [(0, 1), (0, 1), (1, 0)]
    assert the_list() == {"ada@x.org": ("", "confirmed")}
