"""Past issues from other products get into the archive and are never mailed."""

import io
import json
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from delivery.mail.merge_fields import FieldTemplate
from delivery.models import Batch, Delivery, Edition, Newsletter
from publishing.content.edition_content import Content
from publishing.editions.versions import default_goes_to
from publishing.external_checks.open_link import FetchError
from publishing.models import Issue, IssueMove, IssueMovePiece, UploadedImage
from publishing.past_issues import move_task
from publishing.past_issues.past_issue import MOST_ISSUES, parse_date
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import WindowOf
from tests.publishing.past_issues.sample_exports import (
    LETTER,
    MEDIA,
    RESIZED,
    SUBSTACK_HEADER,
    SWIFTS,
    buttondown,
    ghost,
    substack,
    zipped,
)
from tests.publishing.publish_with import publish

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/newsletters/move/issues/"


class Web:
    """An opener that serves these pictures and records which addresses were fetched."""

    def __init__(self, **pictures: bytes) -> None:
        self.pictures = pictures
        self.fetched: list[str] = []

    def fetch(self, url: str, **limits: Any) -> bytes:
        self.fetched.append(url)
        for end, content in self.pictures.items():
            if url.endswith(f"{end}.png"):
                return content
        raise FetchError(url)


def move(content: bytes, author: Any, site: str = "", web: Web | None = None) -> IssueMove:
    with transaction.atomic():
        request = move_task.request_move(io.BytesIO(content), "a.zip", site, author.pk)
    assert move_task.run_next_move(lambda: False, lambda: web or Web())  # type: ignore[arg-type,return-value]
    request.refresh_from_db()
    return request


def letter_of(slug: str) -> str:
    return Edition.objects.get(issue__slug=slug).html_content


def test_a_moved_in_issue_has_its_date_in_the_archive(
    author: Any, three_readers: Any, public_window: WindowOf
) -> None:
    moved = move(substack(), author, web=Web(swifts=SWIFTS))
    assert (moved.state, moved.counts) == ("finished", {"moved": 1})
    page = public_window.get("/archive/swifts-leave/")
    assert "Swifts’ farewell" in page.words
    assert "4 May 2021" in page.words
    assert "They return in May." in page.words
    assert "Swifts’ farewell" in public_window.get("/archive/feed.xml").source
    assert "Swifts’ farewell" in public_window.get("/archive/").words


def test_a_moved_in_issue_is_never_mailed(author: Any, three_readers: Any) -> None:
    move(substack(), author)
    edition = Edition.objects.get(issue__moved_from="substack")
    assert (edition.goes_to, edition.audience, edition.version) == ("nobody", 0, 1)
    assert edition.held_until == edition.published_at == datetime(2021, 5, 4, 8, tzinfo=UTC)
    assert not Batch.objects.exists()
    assert not Delivery.objects.exists()


def test_the_letter_loses_everything_of_the_old_product(author: Any) -> None:
    move(substack(LETTER), author)
    letter = letter_of("swifts-leave")
    for gone in ("Thanks for reading", "Subscribe", "Share", "Poll", "alert", "eotrx", "{{", "%%"):
        assert gone not in letter
    assert "<em>left</em>" in letter
    assert "&#123;&#123; name }}" in letter


def test_braces_of_the_old_product_show_as_written(
    author: Any, three_readers: Any, public_window: WindowOf
) -> None:
    code = "`{{ a }}{% b %}`\n\n```\n{{ c }}\n```\n\nGone{{ d }}{% e %}: &#123;&#123; name }}"
    rich = "<!-- buttondown-editor-mode: fancy -->x<pre>{{ f }}</pre>{{ g }}"
    move(buttondown(("plain", "public", code), ("rich", "public", rich)), author)
    text = Edition.objects.get(issue__slug="plain").text_content
    filled = FieldTemplate(text, html=False).fill({"name": "Ada"})
    assert filled == "{{ a }}{% b %}\n\n    {{ c }}\n\nGone: {{ name }}"
    page = public_window.get("/archive/plain/").words
    feed = public_window.get("/archive/feed.xml").source
    for shown in ("{{ a }}{% b %}", "{{ c }}", "Gone: {{ name }}"):
        assert shown in page
        assert shown in feed
    assert "{{ f }}" in public_window.get("/archive/rich/").words
    assert "{{ g }}" not in public_window.get("/archive/rich/").words


def test_pictures_are_copied_from_the_original(author: Any) -> None:
    web = Web(swifts=SWIFTS)
    move(substack(LETTER * 2), author, web=web)
    image = UploadedImage.objects.get()
    assert web.fetched == [MEDIA]
    assert f'src="/pictures/{image.pk}' in letter_of("swifts-leave")


def test_galleries_and_players_of_substack_become_pictures_and_links(author: Any) -> None:
    old = "https://bucketeer-1.s3.amazonaws.com/public/images/swifts.png"
    gallery = escape(json.dumps({"gallery": {"images": [{"src": old}]}}))
    video = escape(json.dumps({"videoId": 'a"b'}))
    web = Web(swifts=SWIFTS)
    letter = (
        f'<div class="image-gallery-embed" data-attrs="{gallery}"></div>'
        f'<div class="youtube-wrap" data-attrs="{video}"></div><p>End</p>'
    )
    move(substack(letter), author, web=web)
    assert web.fetched == [MEDIA]
    assert 'src="/pictures/' in letter_of("swifts-leave")
    assert 'href="https://www.youtube.com/watch?v=a%22b"' in letter_of("swifts-leave")


def test_galleries_and_players_that_are_none_are_left_out(author: Any) -> None:
    sources = [{"src": "\ud800"}, {"src": "https://x.example/\0"}, {"src": 5}, 5]
    wrong = [
        ("youtube-wrap", {"videoId": "\ud800"}),
        ("image-gallery-embed", {"gallery": {"images": 5}}),
        ("image-gallery-embed", {"gallery": {"images": sources}}),
    ]
    letter = "".join(
        f'<div class="{name}" data-attrs="{escape(json.dumps(data))}"></div>'
        for name, data in wrong
    )
    assert move(substack(f"{letter}<p>End</p>"), author).counts["moved"] == 1


@pytest.mark.parametrize("date", [-62_135_596_800_000, 10**30, "0001-01-01T00:00:00Z"])
def test_an_impossible_date_is_none(date: object) -> None:
    assert parse_date(date) is None


def test_pictures_of_the_zip_need_no_fetch(author: Any) -> None:
    web = Web()
    move(substack(**{"pictures/swifts.png": SWIFTS}), author, web=web)
    assert web.fetched == []
    assert UploadedImage.objects.count() == 1


def test_a_picture_that_cannot_be_fetched_keeps_its_address(author: Any) -> None:
    other = "http://elsewhere.example/a.png"
    web = Web()
    moved = move(substack(f'<p>Hi</p><img src="{RESIZED}"><img src="{other}">'), author, web=web)
    assert moved.counts == {"moved": 1, "picture_kept": 2}
    assert RESIZED in letter_of("swifts-leave")
    assert "https://elsewhere.example/a.png" in letter_of("swifts-leave")
    assert not [url for url in web.fetched if "elsewhere" in url]
    assert ["picture_kept", "Swifts’ farewell", RESIZED] in moved.notes


def test_a_fetched_pixel_is_left_out(author: Any) -> None:
    dot = bytes.fromhex(
        "47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b"
    )
    move(substack(), author, web=Web(swifts=dot))
    assert "<img" not in letter_of("swifts-leave")


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("audience", "only_paid", "not_public"),
        ("audience", "founding", "not_public"),
        ("audience", "something new", "not_public"),
        ("is_published", "FALSE", "draft"),
        ("post_date", "2999-01-01T00:00:00.000Z", "draft"),
        ("post_date", "soon", "no_date"),
        ("type", "thread", "not_an_issue"),
    ],
)
def test_an_issue_that_is_not_public_stays_out(
    author: Any, column: str, value: str, reason: str
) -> None:
    moved = move(substack(LETTER, {"post_id": "7.other", "title": "Other", column: value}), author)
    assert moved.counts[reason] == moved.counts["moved"] == 1
    assert [reason, "Other", ""] in moved.notes
    assert not Issue.objects.filter(slug="other").exists()


def test_a_letter_with_a_paywall_stays_out(author: Any) -> None:
    moved = move(substack('<p>Free</p><div class="paywall-jump"></div><p>Paid</p>'), author)
    assert moved.counts == {"not_public": 1}


def test_the_same_export_again_creates_nothing(author: Any) -> None:
    move(substack(), author)
    assert move(substack("<p>Changed</p>"), author).counts == {"known": 1}
    assert Issue.objects.filter(moved_from="substack").count() == 1


def test_a_taken_address_gets_a_suffix_and_is_reported(author: Any) -> None:
    publish(author.pk, "k", Content(title="Swifts leave", html="<p>Ours</p>"), hold_s=0)
    moved = move(substack(), author)
    issue = Issue.objects.get(moved_from="substack")
    assert issue.slug.startswith("swifts-leave-")
    assert ["other_address", "Swifts’ farewell", issue.slug] in moved.notes


def test_ghost_issues_come_with_pictures_of_their_site(author: Any) -> None:
    html = '<p>Hello</p><img src="__GHOST_URL__/content/images/a.png"><iframe src="x"></iframe>'
    content = ghost(
        {"id": "a1", "slug": "hello", "title": "Hello", "html": html, "codeinjection_head": "EVIL"},
        {"id": "a2", "slug": "paid", "html": html, "visibility": "paid"},
        {"id": "a3", "slug": "mailed", "html": html, "status": "sent"},
        {"id": "a4", "slug": "email-only", "html": html},
        {"id": "a5", "slug": "about", "html": html, "type": "page"},
        metas=({"post_id": "a4", "email_only": 1},),
    )
    web = Web(a=SWIFTS)
    moved = move(content, author, "news.example.org/", web)
    assert moved.counts == {"moved": 1, "not_public": 3, "not_an_issue": 1, "player_left_out": 1}
    assert web.fetched == ["https://news.example.org/content/images/a.png"]
    assert "EVIL" not in letter_of("hello")


def test_blank_rows_of_a_list_of_issues_count(author: Any) -> None:
    export = zipped({"posts.csv": SUBSTACK_HEADER + "\n" * (MOST_ISSUES + 2)})
    assert move(export, author).error["code"] == "too_many"


def test_ghost_needs_the_address_of_its_site(author: Any) -> None:
    assert move(ghost({"id": "a1", "html": "<p>x</p>"}), author).error["code"] == "site_missing"
    assert not IssueMovePiece.objects.exists()


def test_buttondown_letters_are_markdown_or_html(author: Any) -> None:
    content = buttondown(
        ("plain", "public", "<!-- buttondown-editor-mode: plaintext -->Hi *you* {{ subscribe }}"),
        ("rich", "archival", "<!-- buttondown-editor-mode: fancy --><p>Hi <b>all</b></p>"),
        ("paid", "premium", "Secret"),
    )
    assert move(content, author).counts == {"moved": 2, "not_public": 1}
    assert letter_of("plain").strip() == "<p>Hi <em>you</em></p>"
    assert "<b>all</b>" in letter_of("rich")


def test_lists_of_buttondown_can_be_json(author: Any) -> None:
    email = {"id": "1", "slug": "a", "subject": "A", "email_type": "public"}
    emails = json.dumps([email | {"publish_date": "2022-03-04 05:06:07Z"}])
    content = zipped({"x/emails.json": emails, "x/emails/a.md": "Hi"})
    assert move(content, author).counts == {"moved": 1}


def test_a_worker_that_lost_its_lease_moves_nothing_in(author: Any) -> None:
    class SlowWeb(Web):
        def fetch(self, url: str, **limits: Any) -> bytes:
            IssueMove.objects.update(epoch=7)  # as if another worker had claimed the move
            return SWIFTS

    with transaction.atomic():
        move_task.request_move(io.BytesIO(substack()), "a.zip", "", author.pk)
    assert move_task.run_next_move(lambda: False, SlowWeb)  # type: ignore[arg-type]
    assert not Issue.objects.filter(moved_from="substack").exists()
    assert IssueMove.objects.get().done == 0


def test_a_correction_of_a_moved_in_issue_mails_nobody(author: Any, three_readers: Any) -> None:
    move(substack(), author)
    issue = Issue.objects.get(moved_from="substack").pk
    assert default_goes_to(issue) == "nobody"
    publish(
        author.pk, "c", Content(title="Title", html="<p>New</p>"), hold_s=0, issue=issue, version=2
    )
    assert not Delivery.objects.exists()


def test_the_page_takes_an_export_and_shows_the_report(window: WindowOf) -> None:
    export = io.BytesIO(substack("<p>Hi</p>", {"post_id": "7.x", "audience": "only_paid"}))
    export.name = "substack.zip"
    assert window.post(PAGE, file=export).status == 303
    assert "waiting for a worker" in window.get(PAGE).words
    assert move_task.run_next_move(lambda: False)
    words = window.get(PAGE).words
    assert "1 issue was moved in." in words
    assert "1 issue was left out because it was not public" in words
    assert (
        "Moved in from Substack; not sent from here."
        in window.get("/admin/newsletters/issues/").words
    )
    assert (
        "uploaded substack.zip to move in its issues" in window.get("/admin/newsletters/log/").words
    )
    issue = Issue.objects.get(moved_from="substack").pk
    assert "not sent from here" in window.get(f"/admin/newsletters/{issue}/").words


def test_a_program_moves_issues_in(author: Any) -> None:
    program = Program(author)
    octets = {"content_type": "application/octet-stream"}
    form = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("a.zip", b"")})
    empty = program.post("/past-issues/", form, content_type=MULTIPART_CONTENT)
    assert (empty.status_code, empty.json()["errors"][0]["field"]) == (400, "file")
    bad = program.post("/past-issues/?site=x://y", b"{}", **octets)
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (400, "site")
    content = substack("<p>Hi</p>", {"post_id": "7.x", "title": "X", "audience": "only_paid"})
    for _ in range(2):
        answer = program.post("/past-issues/?filename=a.zip", content, key="k", **octets)
        assert (answer.status_code, answer.json()["state"]) == (201, "waiting")
    assert program.post("/past-issues/", content, **octets).status_code == 409
    assert move_task.run_next_move(lambda: False)
    ended = program.get(f"/past-issues/{answer.json()['move']}/").json()
    assert (ended["state"], ended["issues"], ended["done"]) == ("finished", 2, 2)
    found = [(one["result"], one["count"], one["titles"]) for one in ended["results"]]
    assert found == [("moved", 1, []), ("not_public", 1, ["X"])]
    refused = program.post("/past-issues/", b"{}", **octets).json()["move"]
    assert move_task.run_next_move(lambda: False)
    assert (
        "does not recognise this file" in program.get(f"/past-issues/{refused}/").json()["refusal"]
    )
    readers = {"export/email_list.swifts.csv": "email\nada@example.org\n"}
    both = program.post("/past-issues/", substack(**readers), **octets).json()
    assert (answer.json()["readers"], both["readers"]) == ([], ["email_list.swifts.csv"])


@pytest.mark.parametrize(
    "content",
    [
        *(b"PK\5\6", b"{}", b"no", b'{"db": [{"data": {"posts": []}}]}'),
        b'{"data": {"posts": [{"id": [], "html": "x"}], "posts_meta": [{"post_id": {}}]}}',
        b'{"data": {"posts": [{"id": 7}], "posts_meta": 7}}',
    ],
)
def test_another_file_is_refused_with_a_sentence(window: WindowOf, content: bytes) -> None:
    file = io.BytesIO(content)
    file.name = "a.zip"
    window.post(PAGE, file=file)
    assert move_task.run_next_move(lambda: False)
    assert "Nothing was moved in." in window.get(PAGE).words


def test_a_move_is_refused_if_publishing_needs_approval(window: WindowOf) -> None:
    Newsletter.objects.update(second_person=True)
    file = io.BytesIO(substack())
    file.name = "a.zip"
    answer = window.post(PAGE, file=file)
    assert (answer.status, "second person" in answer.words) == (400, True)
    assert not IssueMove.objects.exists()


def test_the_command_reports_before_and_after(
    author: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "substack.zip"
    path.write_bytes(substack("<p>Hi</p>"))
    call_command("import_issues", str(path), "--dry-run")
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "Dry run of substack.zip: nothing has changed. A move would report:"
    assert json.loads(last)["moved"] == 1
    assert not Issue.objects.filter(moved_from="substack").exists()
    call_command("import_issues", str(path), "--author", author.username)
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (answer["state"], answer["moved"]) == ("finished", 1)
    with pytest.raises(CommandError, match="cannot read"):
        call_command("import_issues", str(tmp_path / "none"), "--dry-run")
