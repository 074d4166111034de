"""The archive after an issue was corrected, called back or cancelled halfway."""

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from delivery.models import Edition
from publishing.content.edition_content import Content
from publishing.editions.edition_status import load_status
from publishing.models import Draft, Issue
from publishing.progress.edition_progress import is_public
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import cancelled, hold_is_over, sent
from tests.publishing.publish_with import publish

pytestmark = pytest.mark.django_db(transaction=True)

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/archive/feed.xml"
CORRECTED = re.compile(r"Corrected on \d+ \w+ \d{4}\.")


@pytest.fixture
def first(author, three_readers):
    """Publish version 1, and set its times to three days ago."""
    edition = publish(author.pk, "first", letter(text="", html="<p>Forty.</p>"), hold_s=0).edition
    long_ago = edition.published_at - timedelta(days=3)
    Edition.objects.update(published_at=long_ago, held_until=long_ago)
    return Edition.objects.get()


@pytest.fixture
def correct(author, first):
    """Publish version 2 of the same issue."""

    def publish_it(hold_s=0, **whom):
        return publish(
            author.pk, "second", letter(text="", html="<p>Fourteen.</p>"), hold_s=hold_s,
            issue=first.issue_id, version=2, **whom,
        ).edition  # fmt: skip

    return publish_it


def letter_page(public_window):
    return public_window.get(f"/archive/{Edition.objects.earliest('pk').issue.slug}/")


def test_a_correction_replaces_the_page_and_keeps_its_date(public_window, author, first, correct):
    sent(first)
    publish(author.pk, "newer", letter("A newer letter"), hold_s=0)
    second = correct()
    first_day = f"{first.published_at:%Y-%m-%d}"

    page, listed = letter_page(public_window), public_window.get("/archive/")
    feed = ElementTree.fromstring(public_window.get(FEED).html)  # noqa: S314 -- our own
    entry, _ = feed.findall(f"{ATOM}entry")

    assert "Fourteen." in page.words
    assert "Forty." not in page.words
    assert CORRECTED.search(page.words)
    # Pages for readers do not mention versions.
    assert "version" not in (page.words + listed.words).lower()
    assert f'datetime="{first_day}"' in page.html
    assert listed.words.index("A newer letter") < listed.words.index("Swifts leave")
    assert f'datetime="{first_day}"' in listed.html
    assert f"Corrected on {second.published_at.day} {second.published_at:%B %Y}" in listed.words
    assert entry.find(f"{ATOM}id").text == first.issue_id.urn
    assert entry.find(f"{ATOM}published").text[:10] == first_day
    assert entry.find(f"{ATOM}updated").text[:10] == f"{second.published_at:%Y-%m-%d}"
    words = re.sub(r"<[^>]+>", "", entry.find(f"{ATOM}content").text)
    assert CORRECTED.search(words)
    assert "Fourteen." in words


def test_the_same_letter_for_the_remaining_readers_has_no_note(public_window, first, author):
    sent(first)
    whole = Content.of_edition(first)
    publish(
        author.pk, "rest", whole, hold_s=0, issue=first.issue_id, version=2, goes_to="unreached"
    )
    feed = ElementTree.fromstring(public_window.get(FEED).html)  # noqa: S314 -- our own
    updated, published = (
        [one.text for one in feed.iterfind(f"{ATOM}entry/{ATOM}{name}")]
        for name in ("updated", "published")
    )
    assert updated == published
    assert not CORRECTED.search(letter_page(public_window).words)
    # Version 4 has the text of version 1 again. Compared with version 3, version 4 is a correction.
    for version, content in ((3, letter("Between")), (4, whole)):
        publish(author.pk, f"{version}", content, hold_s=0, issue=first.issue_id, version=version)
    assert CORRECTED.search(letter_page(public_window).words)


def test_a_small_fix_of_the_page_has_no_note(public_window, author, first, correct):
    sent(first)
    publish(author.pk, "newer", letter("A newer letter"), hold_s=0)
    before = ElementTree.fromstring(public_window.get(FEED).html)  # noqa: S314 -- our own
    correct(goes_to="nobody", without_note=True)

    page, listed = letter_page(public_window), public_window.get("/archive/")
    feed = ElementTree.fromstring(public_window.get(FEED).html)  # noqa: S314 -- our own
    assert "Fourteen." in page.words
    assert "orrected" not in page.words + listed.words
    assert "modified_time" not in page.html
    for name in ("id", "updated", "published"):
        found = [one.text for one in feed.iterfind(f"{ATOM}entry/{ATOM}{name}")]
        assert found == [one.text for one in before.iterfind(f"{ATOM}entry/{ATOM}{name}")]
    assert "orrected" not in feed.findall(f"{ATOM}entry/{ATOM}content")[1].text


def test_the_check_sheet_leaves_the_note_out_or_shows_it(window, public_window, author, first):
    sent(first)
    fixed = Draft.objects.create(
        issue=first.issue, title="Swifts leave", letter="Fourteen.", goes_to="nobody",
        created_by=author,
    )  # fmt: skip
    sheet = f"/admin/newsletters/drafts/{fixed.pk}/check/"
    confirm = sheet.replace("check", "publish") + "?when=now"

    def note_on(address):
        return window.get(address).html.partition("Note for readers</dt>")[2].partition("</dd>")[0]

    def press(button):
        """Press the button about the note on the check sheet.

        Return what the check sheet and the confirmation page say about the note afterwards.
        """
        assert f'value="{button}"' in note_on(sheet)
        form = window.get(sheet).form_with("base")
        assert form.action in note_on(sheet)
        assert window.post(form.action, **form.fields, choice=button).status == 303
        notes = (note_on(sheet), note_on(confirm))
        return ["Corrected on" in one for one in notes], ["None" in one for one in notes]

    assert "with the date, on the page and in the feed" in note_on(sheet)
    Issue.objects.update(unlisted=True)
    assert "with the date, on the page" in note_on(sheet)
    assert "feed" not in note_on(sheet)
    assert press("no-note") == ([False, False], [True, True])
    assert press("note") == ([True, True], [False, False])
    press("no-note")
    asked = window.get(confirm).form_with("revision")
    assert window.post(asked.action, **asked.fields).status == 303
    page = letter_page(public_window).words
    assert "Fourteen." in page
    assert "orrected" not in page


def test_a_mailed_correction_always_has_a_note(public_window, first, correct):
    sent(first)
    assert not correct(without_note=True).without_note
    assert CORRECTED.search(letter_page(public_window).words)


def test_a_held_correction_shows_the_previous_version(public_window, first, correct):
    sent(first)
    second = correct(hold_s=3600)

    assert "Forty." in letter_page(public_window).words
    hold_is_over(second)
    assert "Fourteen." in letter_page(public_window).words


def test_a_version_after_a_called_back_one_is_new(public_window, first, correct):
    cancelled(first)
    assert letter_page(public_window).status == 404

    correct()

    page = letter_page(public_window)
    assert "Fourteen." in page.words
    assert "ersion 2" not in page.words
    assert (
        "orrected"
        not in page.words + public_window.get("/archive/").words + public_window.get(FEED).html
    )


def test_a_called_back_correction_leaves_the_previous_version(public_window, first, correct):
    sent(first)
    second = correct()
    cancelled(second)

    page = letter_page(public_window)
    assert "Forty." in page.words
    assert "orrected" not in page.words


def test_a_correction_that_was_cancelled_half_way_is_shown(public_window, first, correct):
    sent(first, "Ada")
    cancelled(first)
    assert "Forty." in letter_page(public_window).words
    second = correct()
    sent(second, "Bram")
    cancelled(second)

    assert CORRECTED.search(letter_page(public_window).words)


@pytest.mark.parametrize("reached", [(), ("Ada",)])
@pytest.mark.parametrize("ended", [False, True])
def test_progress_page_and_archive_agree_on_what_is_public(public_window, first, reached, ended):
    if reached:
        sent(first, *reached)
    if ended:
        cancelled(first)

    assert is_public(load_status(first.pk).counts) == (letter_page(public_window).status == 200)


def test_the_number_of_letters_does_not_change_the_queries(
    public_window, author, first, correct, django_assert_num_queries
):
    with CaptureQueriesContext(connection) as before:
        assert public_window.get("/archive/").status == 200
    sent(first)
    correct()
    for number in range(3):
        publish(author.pk, f"k{number}", letter(f"Letter {number}"), hold_s=0)
    with django_assert_num_queries(len(before)):
        assert public_window.get("/archive/").status == 200
