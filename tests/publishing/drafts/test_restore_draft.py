"""An issue that was cancelled before any reader got it becomes a draft again."""

import json
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.db import connection

from delivery.models import Edition
from idempotency.key import fresh_key
from publishing.content.draft_content import DraftFields
from publishing.drafts import save_draft
from publishing.models import Draft
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import hold_is_over, in_doubt, sent
from tests.publishing.publish_with import publish

pytestmark = pytest.mark.django_db(transaction=True)

SWIFTS = DraftFields(
    title="Swifts leave",
    preview_text="Where they are",
    format="markdown",
    letter="They *have* gone.",
    text="Gone.",
)


def published(author, hold_s: float = 60, **otherwise) -> Edition:
    return publish(author.pk, fresh_key(), letter(), hold_s=hold_s, **otherwise).edition


def published_draft(window, author, written=SWIFTS, **otherwise) -> Edition:
    """Write a draft, publish it from its page and return the edition."""
    issue = otherwise.pop("issue", None)
    draft = save_draft.create(
        author.pk, fresh_key(), replace(written, **otherwise), issue=issue
    ).draft
    address = f"/admin/newsletters/drafts/{draft.pk}/publish/"
    fields = window.get(address).form_with("revision").fields
    assert window.post(address, **fields).status == 303
    draft.refresh_from_db()
    return draft.edition


def take_back(window, edition: Edition, name: str = "call-back"):
    address = f"/admin/newsletters/{edition.issue_id}/{name}/?version={edition.version}"
    return window.post(address)


@pytest.fixture
def held(settings):
    settings.PUBLISH_HOLD_S = 60


@pytest.mark.usefixtures("held", "three_readers")
@pytest.mark.parametrize("name", ["call-back", "cancel"])
def test_restored_draft_is_linked_and_published_as_next_version(window, author, name):
    edition = published_draft(window, author)
    if name == "call-back":
        sheet = window.get(f"/admin/newsletters/{edition.issue_id}/{name}/")
        assert "The issue becomes a draft again" in sheet.words

    answer = take_back(window, edition, name)

    fresh = Draft.objects.get(edition=None)
    page = window.get(answer.answer["Location"])
    assert f'href="/admin/newsletters/drafts/{fresh.pk}/"' in page.html
    assert fresh.fields == SWIFTS
    assert fresh.issue_id == edition.issue_id
    assert fresh.key != edition.idempotency_key
    assert Draft.objects.get(edition=edition).pk != fresh.pk

    publish_page = f"/admin/newsletters/drafts/{fresh.pk}/publish/"
    fields = window.get(publish_page).form_with("revision").fields
    assert window.post(publish_page, **fields).status == 303
    assert Edition.objects.get(version=2).issue_id == edition.issue_id


def test_called_back_issue_of_a_deleted_author_becomes_a_draft(author, three_readers, capsys):
    edition = published(author)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_admin_log")
    author.delete()

    call_command("edition", "call-back", str(edition.issue_id))

    assert json.loads(capsys.readouterr().out.splitlines()[-1])["state"] == "cancelled"
    fresh = Draft.objects.get(edition=None)
    assert fresh.created_by is None
    assert (fresh.issue_id, fresh.format) == (edition.issue_id, "html")
    assert (fresh.title, fresh.letter) == (edition.title, edition.html_content)


def test_existing_open_draft_is_not_changed(window, author, three_readers):
    edition = published(author)
    other = DraftFields(title="Other words", format="markdown", letter="Other.")
    save_draft.create(author.pk, fresh_key(), other, issue=edition.issue_id)

    take_back(window, edition)

    assert Draft.objects.get().title == "Other words"


@pytest.mark.usefixtures("held")
def test_restored_correction_keeps_its_readers(window, author, three_readers):
    first = published(author)
    hold_is_over(first)
    sent(first)
    second = published_draft(window, author, issue=first.issue_id, goes_to="reached")

    take_back(window, second)

    fresh = Draft.objects.get(edition=None)
    assert (fresh.goes_to, fresh.letter) == ("reached", SWIFTS.letter)


@pytest.mark.parametrize(
    "happened", [lambda edition: sent(edition, "Ada"), in_doubt], ids=["sent", "doubt"]
)
def test_cancelling_makes_no_draft_if_a_reader_may_have_it(window, author, three_readers, happened):
    edition = published(author, hold_s=0)
    happened(edition)

    answer = take_back(window, edition, "cancel")

    assert Edition.objects.get().control == "cancelled"
    assert not Draft.objects.exists()
    assert "It was sent to nobody" not in window.get(answer.answer["Location"]).words


@pytest.mark.usefixtures("held", "three_readers")
def test_the_link_to_the_draft_survives_a_reload(window, author, new_author):
    edition = published_draft(window, author)
    progress = f"/admin/newsletters/{edition.issue_id}/"
    assert "Open the draft" not in window.get(progress).words
    take_back(window, edition)
    link = f'href="/admin/newsletters/drafts/{Draft.objects.get(edition=None).pk}/"'

    for _ in range(2):
        page = window.get(progress)
        assert page.html.count(link) == 1
        assert "Open the draft" in page.words
        assert "Write the next version" not in page.words
    looker = WindowOf(new_author("otto", "view_issue"))
    assert link not in looker.get(progress).html
