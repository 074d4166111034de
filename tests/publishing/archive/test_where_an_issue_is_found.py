"""Where readers find an issue: by the author's choice or automatically."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from delivery.models import Edition
from publishing.editions.archive_visibility import visibility_after
from publishing.editions.audience import TagChoice
from publishing.editions.versions import VersionRefusedError
from publishing.models import Draft, Issue
from publishing.publish.publish_edition import KeyUsedForOtherContentError
from subscribers.models import Subscriber, Tag
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import Page, WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import sent
from tests.publishing.publish_with import publish

pytestmark = pytest.mark.django_db(transaction=True)

FOUNDERS = TagChoice(((1, "Founders"),))
EVERYBODY = TagChoice()


@pytest.fixture
def founders(three_readers: list[Subscriber]) -> Tag:
    """Create the tag of the founders, with Ada as the only founder."""
    tag = Tag.objects.create(name="Founders")
    Subscriber.objects.filter(name="Ada").update(tags=[tag.pk])
    return tag


@pytest.mark.parametrize(
    ("chosen", "tags", "present", "is_public", "after"),
    [
        ("", EVERYBODY, None, False, "public"),
        ("", FOUNDERS, None, False, "unlisted"),
        ("public", FOUNDERS, None, False, "public"),
        ("none", EVERYBODY, None, False, "none"),
        # In these cases the issue exists, but none of its versions has been public yet.
        ("", EVERYBODY, "unlisted", False, "unlisted"),
        ("", FOUNDERS, "public", False, "unlisted"),
        ("public", FOUNDERS, "none", False, "public"),
        # In these cases an earlier version is public. The issue stays public or becomes unlisted.
        ("", FOUNDERS, "public", True, "public"),
        ("unlisted", FOUNDERS, "public", True, "unlisted"),
        ("none", FOUNDERS, "public", True, "public"),
        ("public", FOUNDERS, "unlisted", True, "unlisted"),
        ("public", FOUNDERS, "none", True, "none"),
    ],
)
def test_an_issue_is_found_where_its_author_chose(
    chosen: str, tags: TagChoice, present: str | None, is_public: bool, after: str
) -> None:
    issue = Issue(unlisted=present != "public", has_page=present != "none") if present else None
    assert visibility_after(chosen, tags, issue, is_public=is_public) == after


def sheet_of(draft: Draft) -> str:
    return f"/admin/newsletters/drafts/{draft.pk}/check/"


def archive_on(page: Page) -> str:
    return page.html.partition('archive">')[2].partition("</dd>")[0]


def test_a_letter_for_some_readers_says_that_it_is_unlisted(
    window: WindowOf, founders: Tag, author: Any
) -> None:
    draft = Draft.objects.create(
        title="Herons", letter="Herons.", with_tags=[founders.pk], created_by=author
    )
    page = window.get(sheet_of(draft))
    assert archive_on(page).startswith("Unlisted")
    assert "because tags limit its readers" in archive_on(page)
    confirm = sheet_of(draft).replace("check", "publish") + "?when=now"
    assert archive_on(window.get(confirm)).startswith("Unlisted")

    # The author's choice is kept, even if the tags change.
    where = sheet_of(draft).replace("check", "archive")
    window.post(where, choice="public", base="1")
    assert archive_on(window.get(sheet_of(draft))).startswith("Public in the archive")
    assert "Your choice was not saved" in window.post(where, choice="none", base="1").words
    window.post(where, choice="unlisted", base="2")
    Draft.objects.update(with_tags=[])
    page = window.get(sheet_of(draft))
    assert archive_on(page).startswith("Unlisted")
    assert "because tags" not in archive_on(page)
    asked = window.get(confirm).form_with("revision")
    assert window.post(asked.action, **asked.fields).status == 303
    assert Issue.objects.get(editions__version=1, title="Herons").visibility == "unlisted"


def test_scripts_and_programs_follow_the_same_default(
    new_author: Callable[..., Any], founders: Tag, tmp_path: Path, capsys: Any
) -> None:
    root = new_author("root", is_superuser=True)
    path = tmp_path / "letter.txt"
    path.write_text("Herons.")

    def found(*options: str) -> str:
        call_command("publish", "--title", "Herons", "--text-file", str(path), *options)
        return Edition.objects.latest("pk").issue.visibility

    assert found() == "public"
    assert found("--tag", "Founders") == "unlisted"
    assert "Anyone with the link can read it" in capsys.readouterr().err
    assert found("--tag", "Founders", "--listed") == "public"
    assert found("--unlisted") == "unlisted"
    assert found("--not-in-archive") == "none"

    def answered(status: int, **words: object) -> str:
        answer = Program(root).post("/issues/", {"title": "Herons", "text": "Herons.", **words})
        assert answer.status_code == status
        return Edition.objects.latest("pk").issue.visibility

    assert answered(201, tags=["Founders"]) == "unlisted"
    assert answered(201, tags=["Founders"], unlisted=False) == "public"
    assert answered(201, archive="none") == "none"
    assert answered(201, unlisted=True) == "unlisted"
    answered(400, unlisted=True, archive="none")
    answered(400, archive="none", text="{{ archive_url }}")


def test_a_repeated_key_is_bound_to_the_choice(author: Any, founders: Tag) -> None:
    tags = TagChoice(((founders.pk, "Founders"),))

    def again(archive: str) -> bool:
        return publish(author.pk, "k", letter(), hold_s=0, tags=tags, archive=archive).created

    assert again("")
    assert not again("")
    assert not again("unlisted")
    for other in ("public", "none"):
        with pytest.raises(KeyUsedForOtherContentError, match="unlisted"):
            again(other)


@pytest.mark.parametrize(
    ("archive", "place", "is_to_appear"),
    [
        ("public", "Public in the archive", True),
        ("unlisted", "Unlisted", True),
        ("none", "no page", False),
    ],
)
def test_a_held_issue_says_where_it_will_be_found(
    window: WindowOf, author: Any, archive: str, place: str, is_to_appear: bool
) -> None:
    edition = publish(author.pk, "k", letter("Herons"), hold_s=600, archive=archive).edition
    words = window.get(f"/admin/newsletters/{edition.issue_id}/").words
    assert place in words
    assert ("it appears when sending starts" in words) is is_to_appear


def test_an_issue_without_a_page_is_found_nowhere(
    window: WindowOf, public_window: WindowOf, author: Any, three_readers: list[Subscriber]
) -> None:
    edition = publish(author.pk, "k", letter("Herons"), hold_s=0, archive="none").edition
    sent(edition)
    page = f"/archive/{edition.issue.slug}/"
    assert public_window.get(page).status == 404
    for address in ("/", "/archive/", "/archive/feed.xml"):
        assert "Herons" not in public_window.get(address).html
    assert "archive_url" not in edition.html_mail + edition.text_mail
    linked = letter(html='<p><a href="{{ archive_url }}">Web</a></p>')
    with pytest.raises(VersionRefusedError, match="not in the archive"):
        publish(author.pk, "l", linked, hold_s=0, archive="none")
    with pytest.raises(VersionRefusedError, match="goes to nobody"):
        publish(author.pk, "n", letter(), hold_s=0, archive="none", goes_to="nobody")

    # A correction does not give the issue a page. Later the author can make the issue public.
    second = publish(
        author.pk, "2", letter("Herons"), hold_s=0, issue=edition.issue_id, version=2
    ).edition
    assert "archive_url" not in second.html_mail + second.text_mail
    progress = f"/admin/newsletters/{edition.issue_id}/"
    assert "it has no page on the web" in window.get(progress).words
    # A page that was opened earlier may still have the button of a version that was called back.
    window.post(f"{progress}listing/", choice="unlist")
    assert public_window.get(page).status == 404
    assert "It has no page on the web." in window.get(progress).words
    window.post(f"{progress}listing/", choice="list")
    assert public_window.get(page).status == 200
    assert page in public_window.get("/archive/feed.xml").html
