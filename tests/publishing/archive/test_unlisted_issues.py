"""Unlisted issues: only their mails link to their pages."""

import pytest
from django.contrib.admin.models import LogEntry

from delivery.models import Edition
from idempotency.models import PostedForm
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.archive.archived_editions import latest_issues
from publishing.models import Issue
from tests.publishing.author_browser import FORM
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import sent
from tests.publishing.publish_with import publish

pytestmark = pytest.mark.django_db(transaction=True)

FEED = "/archive/feed.xml"


@pytest.fixture(autouse=True)
def nothing_is_held(settings):
    """Publish without a hold."""
    settings.PUBLISH_HOLD_S = 0


@pytest.fixture
def unlisted(author, three_readers):
    """Publish an unlisted issue between two listed ones."""
    publish(author.pk, "k1", letter("Before"), hold_s=0)
    edition = publish(author.pk, "k2", letter("For members"), hold_s=0, archive="unlisted").edition
    publish(author.pk, "k3", letter("After"), hold_s=0)
    return Issue.objects.get(pk=edition.issue_id)


def the_issue():
    """Return the only published issue."""
    return Edition.objects.get().issue


def page_of(issue):
    return f"/archive/{issue.slug}/"


def progress_of(issue):
    return f"{FORM}{issue.pk}/"


def choose(window, issue, choice):
    return window.post(f"{progress_of(issue)}listing/", choice=choice)


def test_an_unlisted_page_is_reachable_but_not_indexed(public_window, unlisted):
    page = public_window.get(page_of(unlisted))

    assert page.status == 200
    assert "For members" in page.words
    assert '<meta name="robots" content="noindex">' in page.html
    assert page.answer["X-Robots-Tag"] == "noindex"
    for refusal in ("private", "no-store"):
        assert refusal in page.answer["Cache-Control"]
    assert "public" not in page.answer["Cache-Control"]
    assert "ETag" not in page.answer
    assert Edition.objects.get(issue=unlisted).archive_url.endswith(page_of(unlisted))
    # The unlisted issue has no links to or from other issues, and listed issues stay public.
    assert "/archive/before/" not in page.html
    for address in ("/archive/", FEED, "/archive/no-such-letter/", "/archive/after/"):
        assert "members" not in public_window.get(address).html
    assert [letter["title"] for letter in latest_issues(9)] == ["After", "Before"]
    listed = public_window.get("/archive/after/")
    assert "noindex" not in listed.html
    assert "X-Robots-Tag" not in listed.answer
    assert "/archive/before/" in listed.html


@pytest.mark.parametrize(
    ("posted", "is_unlisted"),
    [({}, False), ({"unlisted": "on"}, True), ({"unlisted": "off"}, False),
     ({"unlisted": "none"}, True)],
)  # fmt: skip
def test_an_issue_is_listed_unless_the_form_says_otherwise(
    window, three_readers, posted, is_unlisted
):
    page = window.get()
    assert 'select name="unlisted"' in page.html
    assert page.form_with("title").fields["unlisted"] == ""

    assert window.publish(**posted).status == 303

    assert the_issue().unlisted is is_unlisted


def test_a_replay_does_not_undo_a_later_choice(window, three_readers):
    fields = window.open_form()
    window.post(**{**fields, "unlisted": "on"})
    choose(window, the_issue(), "list")
    PostedForm.objects.all().delete()

    assert window.post(**{**fields, "unlisted": "on"}).status == 303
    assert not the_issue().unlisted


@pytest.fixture
def corrected(window, unlisted):
    """Return the form fields for version 2 of the unlisted issue."""
    sent(Edition.objects.get(issue=unlisted))
    page = window.get(f"{FORM}?issue={unlisted.pk}")
    return {**page.form_with("title").fields, "text_content": "Fourteen."}


def test_a_correction_leaves_it_unlisted(window, public_window, unlisted, corrected):
    assert corrected["unlisted"] == ""
    assert window.post(**corrected).status == 303

    assert Issue.objects.get(pk=unlisted.pk).unlisted
    page = public_window.get(page_of(unlisted))
    assert "Corrected on" in page.words
    assert page.answer["X-Robots-Tag"] == "noindex"


def test_listing_twice_on_the_progress_page_changes_it_once(window, public_window, unlisted):
    assert "Unlisted" in window.get(progress_of(unlisted)).words

    for _ in range(2):
        assert choose(window, unlisted, "list").status == 303

    assert "Public in the archive" in window.get(progress_of(unlisted)).words
    assert "For members" in public_window.get("/archive/").words
    answer = public_window.get(page_of(unlisted)).answer
    assert "X-Robots-Tag" not in answer
    assert "public" in answer["Cache-Control"]

    for _ in range(2):
        choose(window, unlisted, "unlist")
    assert "For members" not in public_window.get("/archive/").words
    assert _trail(unlisted) == [
        "Edith Marlow published For members to 3 readers. It is unlisted.",
        "Edith Marlow listed For members in the archive.",
        "Edith Marlow made For members unlisted.",
    ]


def _trail(issue):
    entries = LogEntry.objects.filter(object_id=str(issue.pk)).order_by("pk")
    return [plain_sentence_of(entry) for entry in entries]


@pytest.mark.parametrize("choice", ["", "on", "LIST"])
def test_an_unknown_choice_changes_nothing(window, unlisted, choice):
    assert choose(window, unlisted, choice).status == 303

    looked = window.get(f"{progress_of(unlisted)}listing/?choice=list").answer
    assert looked["Location"] == progress_of(unlisted)
    assert Issue.objects.get(pk=unlisted.pk).unlisted
