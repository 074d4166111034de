"""The form of a correction names version and readers, and publishes once."""

import re

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from delivery.models import Edition
from idempotency.key import fresh_key
from idempotency.models import PostedForm
from publishing.content.edition_content import Content
from publishing.drafts.save_draft import open_for_issue
from publishing.editions.versions import overlap_warnings
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from tests.publishing.author_browser import FORM, LETTER, WindowOf
from tests.publishing.edition_states import cancelled, sent
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import tomorrow
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."


@pytest.fixture
def first(window, three_readers):
    """Publish version 1 from the form, to Ada, Bram and Cleo."""
    assert window.publish().status == 303
    return Edition.objects.get()


@pytest.fixture
def corrected(first):
    """Return version 1 after its three copies were sent."""
    sent(first)
    return first


def form_for(edition, more=""):
    return f"{FORM}?issue={edition.issue_id}{more}"


def open_correction(window, edition, **changes):
    """Open the form for the next version, and return its fields with a corrected text."""
    fields = window.get(form_for(edition)).form_with("title").fields
    return {**fields, "text_content": "Fourteen, not forty.\n", **changes}


def test_form_has_newest_text_and_readers_of_each_choice(window, corrected):
    SubscriberFactory(name="Dirk")
    leave(Subscriber.objects.get(name="Ada").pk)

    page = window.get(form_for(corrected))

    assert "Everyone: 3 confirmed readers" in page.words
    assert re.search("earlier version: 2 ", page.words)
    fields = page.form_with("title").fields
    assert (fields["issue"], fields["version"]) == (str(corrected.issue_id), "2")
    for name, words in {**LETTER, "goes_to": "everyone"}.items():
        assert fields[name] == words
    plain = window.get().form_with("title").fields
    assert (plain["issue"], plain.get("version")) == ("", None)


def test_a_correction_is_accepted_and_goes_to_the_chosen_readers(window, corrected):
    SubscriberFactory(name="Dirk")

    answer = window.post(**open_correction(window, corrected, goes_to="reached"))

    assert (answer.status, answer.answer["Location"]) == (303, FORM)
    assert ACCEPTED in window.get().words
    second = Edition.objects.get(version=2)
    assert (second.issue_id, second.goes_to, second.audience) == (corrected.issue_id, "reached", 3)
    assert second.text_content == "Fourteen, not forty.\n"


def test_version_being_sent_is_named_before_and_after_publication(window, first):
    sent(first, "Ada")
    (warning,) = overlap_warnings(first.issue_id, 2, "everyone")

    assert warning in window.get(form_for(first)).words
    assert window.post(**open_correction(window, first)).status == 303

    assert warning in window.get().words


def test_after_restore_correction_for_unreached_readers_is_stopped(window, first):
    cancelled(first)
    Edition.objects.update(unreconciled_since=Now())

    composer = window.get(f"{FORM}write/?issue={first.issue_id}")

    assert "who were not sent an earlier version: not available" in composer.words
    assert 'value="unreached" checked' in composer.html
    refusal = f"Run `./homing reconcile {first.issue_id}` first"
    assert composer.words.count(refusal) == 3  # at both choices and next to the button
    draft = open_for_issue(window.author.pk, first.issue_id)
    sheet = window.get(f"{FORM}drafts/{draft.pk}/check/")
    assert refusal in sheet.words
    assert 'aria-disabled="true"' in sheet.html


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"version": "3"}, "Version 3 of"),
        ({"version": "0"}, "greater than or equal to 1"),
        ({"version": ""}, "Name the version"),
        ({"version": "9" * 12}, "less than or equal to"),
        ({"goes_to": "somebody"}, "somebody is not one of"),
    ],
)
def test_refused_version_returns_with_reason_and_text(window, corrected, changes, named):
    fields = open_correction(window, corrected, **changes)

    page = window.post(**fields)

    assert page.status == 200
    assert named in page.words
    again = page.form_with("title").fields
    for name in ("text_content", "idempotency_key", "issue"):
        assert again[name] == fields[name]
    assert Edition.objects.count() == 1
    assert PostedForm.objects.count() == 1


@pytest.mark.parametrize(
    "change", [{"goes_to": "reached"}, {"version": "3"}, {"title": "Third thoughts"}]
)
@pytest.mark.parametrize("expired", [False, True])
def test_one_key_with_other_version_readers_or_content_gets_422(window, corrected, change, expired):
    fields = open_correction(window, corrected)
    window.post(**fields)
    if expired:
        PostedForm.objects.all().delete()

    page = window.post(**{**fields, **change})

    assert page.status == 422
    assert Edition.objects.count() == 2
    fresh = page.form_with("title").fields
    assert fresh["version"] == "3"
    assert fresh["text_content"] == fields["text_content"]
    assert window.post(**fresh).status == 303
    assert Edition.objects.get(version=3).issue_id == corrected.issue_id


def test_second_author_of_one_version_keeps_their_text(window, new_author, corrected):
    tomas = WindowOf(new_author("tomas"))
    mine = open_correction(window, corrected)
    theirs = open_correction(tomas, corrected, text_content="Fifteen, I counted.\n")
    assert window.post(**mine).status == 303

    page = tomas.post(**theirs)

    assert page.status == 422
    assert "Version 2 of" in page.words
    assert "published by Edith Marlow" in page.words
    assert "<mark>Fourteen, not forty" in page.html
    fresh = page.form_with("title").fields
    assert (fresh["version"], fresh["text_content"]) == ("3", "Fifteen, I counted.\n")
    assert fresh["idempotency_key"] != theirs["idempotency_key"]
    assert Edition.objects.count() == 2
    assert tomas.post(**fresh).status == 303


@pytest.mark.parametrize("was", ["scheduled", "published"])
def test_page_says_that_the_version_was_called_back(window, corrected, was):
    at = tomorrow() if was == "scheduled" else None
    fields = open_correction(window, corrected)
    content = Content.from_input(
        title=fields["title"],
        html=fields["html_content"],
        text=fields["text_content"],
        preview_text=fields["preheader"],
    )
    publish(window.author.pk, "k2", content, hold_s=600, issue=corrected.issue_id, version=2, at=at)
    changed = {**fields, "text_content": "Fifteen.\n"}
    before = window.post(**changed)
    call_command("edition", "call-back", str(corrected.issue_id))

    other = window.post(**changed)
    under_key = window.post(**{**changed, "idempotency_key": "k2"})
    assert window.post(**{**fields, "idempotency_key": fresh_key()}).status == 303
    same = window.get().words

    of_version = f"Version 2 was already {was} with other content."
    of_key = f"An issue with other content was already {was} from this form."
    for page, sentence in ((before, of_version), (other, of_version), (under_key, of_key)):
        assert page.status == 422
        assert page.title.startswith(f"Already {was}")
        assert sentence in page.words
        assert ("called back" in page.words) == (page is not before)
        assert page.form_with("title").fields["version"] == "3"
        assert not at or "ublished version 2" not in page.words
    assert not at or at.words in before.words
    assert f"was already {was} with this content" in same
    assert "called back" in same
    assert Edition.objects.count() == 2


def test_issue_page_links_to_correction_once_a_copy_is_sent(window, new_author, first):
    page = f"{FORM}{first.issue_id}/"
    link = f'<a href="{FORM}write/?issue={first.issue_id}" id="write">'

    assert f"{link}Write the next version</a>" in window.get(page).html
    sent(first, "Ada")
    assert f"{link}Write a correction</a>" in window.get(page).html
    looker = WindowOf(new_author("ines", "view_issue"))
    assert link not in looker.get(page).html


def test_issue_page_lists_versions_with_their_readers(window, corrected):
    address = f"{FORM}{corrected.issue_id}/"
    window.post(**open_correction(window, corrected, goes_to="reached"))

    for page in (window.get(address), window.get(f"{address}?version=1")):
        assert "readers who were sent an earlier version" in page.words
        assert "Audience: all confirmed readers" in page.words
    assert f'href="{address}?version=1"' in window.get(address).html
    assert "version 2. Audience: readers who were sent" in window.get(f"{FORM}issues/").words
