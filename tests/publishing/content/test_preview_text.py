"""The preview text is shown next to the subject in inboxes, and in the archive."""

import pytest

from delivery.issue_attributes import PREVIEW_TEXT
from delivery.models import Edition
from publishing.archive.archived_editions import latest_issues
from publishing.content.edition_content import Content
from publishing.publish.publish_edition import publish
from tests.publishing.author_browser import FORM, WindowOf

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = "A note on absence, and how to keep a record of it."


def test_preview_text_error_is_shown_at_its_field(window, three_readers):
    long = "x" * (PREVIEW_TEXT.longest + 1)
    for words, sentence in (
        (long, "301 characters; the limit is 300"),
        ("Leave: {{ unsubscribe_url }}", "“{{ unsubscribe_url }}”"),
    ):
        page = window.publish(preheader=words)
        assert page.status == 200
        assert sentence in page.words
        assert 'href="#id_preheader"' in page.html
        assert page.form_with("title").fields["preheader"] == words
    assert not Edition.objects.exists()


def test_the_form_asks_for_it_and_it_is_published(window, three_readers):
    assert window.publish(preheader=f" {WORDS} ").status == 303

    edition = Edition.objects.get()
    assert edition.preview_text == WORDS
    assert WORDS in edition.html_mail
    # The form for a correction begins with the preview text of the newest version.
    page = window.get(f"{FORM}?issue={edition.issue_id}")
    assert page.form_with("title").fields["preheader"] == WORDS


def test_the_archive_shows_the_preview_text_as_summary(author, three_readers):
    content = Content(
        title="Swifts", html="<p>They have gone.</p>", preview_text="{{ name|You }} and  the swifts"
    )
    edition = publish(author.pk, "k", content, hold_s=0).edition

    assert [letter["summary"] for letter in latest_issues(1)] == ["You and the swifts"]
    public_window = WindowOf(None)
    assert (
        '<meta name="description" content="You and the swifts">'
        in public_window.get(f"/archive/{edition.issue.slug}/").html
    )
    feed = public_window.get("/archive/feed.xml").html
    assert '<summary type="text">You and the swifts</summary>' in feed
