"""A draft is checked, confirmed and published once."""

import cProfile
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, transaction
from django.db.models import F

from delivery.models import Batch, Delivery, Edition, Newsletter
from idempotency.claim import slot_locks
from idempotency.key import fresh_key
from idempotency.models import PostedForm
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.approval.record_approval import approval_hash
from publishing.content.draft_content import DraftFields
from publishing.content.markdown import render_markdown
from publishing.drafts import save_draft
from publishing.external_checks import cached_results
from publishing.external_checks.open_link import LinkResult
from publishing.models import Draft
from publishing.publish.publish_edition import publish
from tests.publishing.author_browser import FORM, WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import hold_is_over, sent
from tests.publishing.schedule_issue import tomorrow
from tests.publishing.second_connection import (
    PATIENCE_S,
    at_once,
    beside,
    wait_until_somebody_waits,
)
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."
LETTER = "Dear {{ name|reader }},\n\nthey have gone."
SWIFTS = DraftFields(
    title="Swifts leave", preview_text="Where they are now", format="markdown", letter=LETTER
)


def begun(author, written=SWIFTS, **otherwise) -> Draft:
    """Create a draft by its first save."""
    issue = otherwise.pop("issue", None)
    answer = save_draft.create(author.pk, fresh_key(), replace(written, **otherwise), issue=issue)
    return answer.draft


def changed(draft: Draft, author, letter: str = "Other words.") -> None:
    written = replace(draft.fields, format="markdown", letter=letter, text="", archive="")
    save_draft.save(draft.pk, draft.revision, written, by=author.pk)


def at(draft: Draft, page: str) -> str:
    return f"/admin/newsletters/drafts/{draft.pk}/{page}/"


def sheet(window: WindowOf, draft: Draft, asked: str = "") -> dict[str, str]:
    """Return the form fields of the page that confirms the draft's publication."""
    page = window.get(at(draft, "publish") + asked)
    return page.form_with("idempotency_key").fields


def press(window: WindowOf, draft: Draft, fields: dict[str, str]):
    return window.post(at(draft, "publish"), **fields)


def made() -> dict[str, int]:
    return {
        model.__name__: model.objects.count() for model in (Edition, Delivery, Batch, PostedForm)
    }


NOTHING = {"Edition": 0, "Delivery": 0, "Batch": 0, "PostedForm": 0}
ONCE = {"Edition": 1, "Delivery": 3, "Batch": 1, "PostedForm": 1}


def set_in_the_admin(**settings: object) -> None:
    newsletter = Newsletter.objects.get_current()
    Newsletter.objects.filter(pk=newsletter.pk).update(**settings)


@pytest.fixture
def draft(author) -> Draft:
    return begun(author)


def test_unreached_readers_get_the_next_version_after_cancel(window, author, three_readers):
    first = publish(author.pk, "first", letter(), hold_s=0).edition
    sent(first, "Ada")
    window.post(f"{FORM}{first.issue_id}/cancel/")

    page = window.get(f"{FORM}write/?issue={first.issue_id}")
    fields = page.form_with("goes_to").fields
    assert fields["goes_to"] == "unreached"
    assert "Only those who were not sent an earlier version: 2 confirmed readers" in page.words

    window.post(f"{FORM}drafts/", **fields, then="check")
    draft = Draft.objects.get()
    check = window.get(at(draft, "check")).words
    assert "a correction of" in check
    assert "1 copy was sent" in check
    assert "Readers 2 readers who were not sent an earlier version" in check
    assert "Earlier versions sent to confirmed readers: 1; not sent to: 2" in check
    press(window, draft, sheet(window, draft))
    second = Delivery.objects.filter(version=2)
    assert {copy.name for copy in second} == {"Bram", "Cleo"}


def test_a_typo_is_corrected_in_the_archive_without_mail(
    window, author, three_readers, public_window
):
    first = publish(author.pk, "first", letter(), hold_s=0).edition
    sent(first)
    draft = begun(author, issue=first.issue_id, goes_to="nobody")

    assert "Not mailed: archive only" in window.get(at(draft, "check")).words
    assert "Publish in the archive only?" in window.get(at(draft, "publish")).words
    answer = press(window, draft, sheet(window, draft))

    words = window.get(answer.answer["Location"]).words
    assert "The newsletter issue has been accepted. Not mailed: archive only." in words
    assert ACCEPTED not in words
    assert "Succeeded" in words
    assert not Delivery.objects.filter(version=2).exists()
    assert "they have gone" in public_window.get(f"/archive/{first.issue.slug}/").words
    assert "The page was corrected on" in window.get(f"{FORM}issues/").words


def test_with_required_approval_a_request_renders_the_letter_once(
    window, author, new_author, draft, three_readers
):
    set_in_the_admin(second_person=True)
    other = WindowOf(new_author("basil"))
    seen = {"seen": approval_hash(draft).hex()}

    def once(request, status: int = 200) -> None:
        assert renderings(request, status=status) == 1

    once(lambda: window.get(at(draft, "check")))
    once(lambda: other.post(at(draft, "approve"), **seen), status=303)
    once(lambda: other.get(at(draft, "check")))
    once(lambda: window.get(at(draft, "check")))
    once(lambda: window.get(at(draft, "publish")))
    fields = sheet(window, draft)
    once(lambda: other.post(at(draft, "publish"), **fields))
    assert made() == NOTHING
    once(lambda: press(window, draft, fields), status=303)
    assert made() == ONCE
    edition = Edition.objects.get()
    assert (edition.author, edition.approved_by) == (window.author, other.author)


def renderings(request, *, status: int) -> int:
    """Make a request, check its status, and return how often Markdown was rendered."""
    with cProfile.Profile() as calls:
        page = request()
    assert page.status == status
    return sum(
        entry.callcount for entry in calls.getstats() if entry.code is render_markdown.__code__
    )


def test_the_sheet_shows_the_letter_and_its_readers(window, new_author, draft, three_readers):
    SubscriberFactory(state="pending")
    SubscriberFactory(state="unsubscribed")

    page = window.get(at(draft, "check"))

    assert page.status == 200
    for text in ("Swifts leave", "Where they are now", "Readers 3", "Not included 2", "102 kB"):
        assert text in page.words, text
    assert 'aria-disabled="true"' not in page.html
    assert at(draft, "publish") in page.html
    # An author who may only write sees the check sheet without the link to publish.
    theirs = WindowOf(new_author("tomas", "write_draft")).get(at(draft, "check"))
    assert theirs.status == 200
    assert at(draft, "publish") not in theirs.html


def test_stop_links_to_its_fix_and_explains_the_button(window, author, three_readers):
    draft = begun(
        author, DraftFields(title="Swifts", format="markdown", letter="Hello.\n\nDear {{ nmae }},")
    )

    page = window.get(at(draft, "check"))

    assert page.words.count("{{ nmae }}") == 2
    assert f'href="/admin/newsletters/drafts/{draft.pk}/#id_letter"' in page.html
    assert 'type="button" aria-disabled="true" aria-describedby="why"' in page.html


def test_draft_with_a_stop_cannot_be_confirmed_or_published(window, author, three_readers):
    draft = begun(author)
    fields = sheet(window, draft)
    set_in_the_admin(second_person=True)

    asked = window.get(at(draft, "publish"))
    pressed = press(window, draft, fields)

    assert not asked.has_form_with("revision")
    assert pressed.status == 200
    assert made() == NOTHING


def test_sheet_shows_known_and_missing_external_results(window, author, three_readers):
    draft = begun(
        author,
        DraftFields(
            title="Swifts", format="markdown", letter="See [1911](https://weatherbooks.org/1911)."
        ),
    )
    before = window.get(at(draft, "check"))
    cached_results.save(
        cached_results.LINK, {"https://weatherbooks.org/1911": LinkResult(status=404)}
    )

    after = window.get(at(draft, "check"))

    assert "404 https:" not in before.words
    assert "404 https://weatherbooks.org/1911" in after.words


def test_external_checks_lead_back_to_the_sheet(window, draft, three_readers):
    by_button = window.post(at(draft, "looks"))

    assert by_button.status == 303
    assert by_button.answer["Location"] == f"{at(draft, 'check')}#findings"


def test_draft_is_published_to_every_confirmed_reader_unchanged(
    window, draft, author, three_readers
):
    answer = press(window, draft, sheet(window, draft))

    edition = Edition.objects.get()
    assert answer.status == 303
    assert answer.answer["Location"] == f"/admin/newsletters/{edition.issue_id}/?version=1"
    assert ACCEPTED in window.get(answer.answer["Location"]).words
    assert made() == ONCE
    assert "Dear {{ name|reader }}" in edition.html_content
    assert (edition.preview_text, edition.idempotency_key) == ("Where they are now", draft.key)
    draft.refresh_from_db()
    assert (draft.edition, draft.letter) == (edition, LETTER)
    assert window.get(at(draft, "check")).status == 303
    assert window.get(at(draft, "publish")).status == 303
    sentences = [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("action_time")]
    assert "Edith Marlow published Swifts leave to 3 readers." in sentences


def test_pressing_again_gets_the_same_answer_and_publishes_nothing_more(
    window, draft, three_readers
):
    fields = sheet(window, draft)
    first = press(window, draft, fields)
    window.get(first.answer["Location"])

    again = press(window, draft, fields)

    assert (again.status, again.answer.content) == (303, first.answer.content)
    assert again.answer["Location"] == first.answer["Location"]
    assert made() == ONCE
    assert ACCEPTED in window.get(again.answer["Location"]).words
    PostedForm.objects.all().delete()  # as if they had expired
    assert press(window, draft, fields).status == 303
    assert made() == ONCE


def test_publishing_now_is_one_post_from_either_form(window, draft, three_readers):
    by_its_address = sheet(window, draft)
    from_the_sheet = sheet(window, draft, "?when=now&at=&zone=Europe%2FLisbon")

    assert press(window, draft, by_its_address).status == 303
    assert press(window, draft, from_the_sheet).status == 303
    assert Edition.objects.count() == 1


def test_concurrent_press_publishes_once_and_names_the_other_author(
    window, new_author, draft, three_readers
):
    other = WindowOf(new_author("tomas", first_name="Tomás", last_name="Vale"))
    pages = [(window, sheet(window, draft)), (other, sheet(other, draft))]
    answers = at_once(*[lambda page=page: press(page[0], draft, page[1]) for page in pages])

    assert [answer.status for answer in answers] == [303, 303]
    edition = Edition.objects.get()
    assert made() == ONCE
    late = other if edition.author_id == window.author.pk else window
    text = late.get(f"/admin/newsletters/{edition.issue_id}/").words
    assert "Nothing was sent now" in text


def test_press_on_changed_text_shows_the_sheet_again(window, author, draft, three_readers):
    fields = sheet(window, draft)
    changed(draft, author)

    page = press(window, draft, fields)

    assert page.status == 200
    assert "changed after you opened" in page.words
    assert made() == NOTHING
    assert press(window, draft, sheet(window, draft)).status == 303


def test_text_changed_between_check_and_claim_is_not_published(
    window, author, draft, three_readers
):
    """Somebody saves the draft while the validated post waits for its turn."""
    fields = sheet(window, draft)
    with transaction.atomic():
        Draft.objects.select_for_update().get(pk=draft.pk)
        pressed = beside(lambda: press(window, draft, fields))
        wait_until_somebody_waits()
        Draft.objects.filter(pk=draft.pk).update(letter="Other words.", revision=F("revision") + 1)
    page = pressed.result(PATIENCE_S)

    assert page.status == 200
    assert "changed after you opened" in page.words
    assert made() == NOTHING


@pytest.mark.parametrize("expired", [False, True])
@pytest.mark.parametrize(
    "otherwise",
    [
        {"content": "00" * 32},
        {"version": "2"},
        {"when": "at", "at": "2099-01-01T07:00", "zone": "UTC"},
    ],
)
def test_different_press_of_a_published_draft_gets_422(
    window, draft, three_readers, otherwise, expired
):
    fields = sheet(window, draft)
    press(window, draft, fields)
    if expired:
        PostedForm.objects.all().delete()

    page = press(window, draft, {**fields, **otherwise})

    assert page.status == 422
    assert {**made(), "PostedForm": 1} == ONCE
    again = window.post("/admin/newsletters/write/", **page.form_with("issue").fields)
    fresh = Draft.objects.get(edition=None)
    assert again.answer["Location"] == f"/admin/newsletters/drafts/{fresh.pk}/"
    assert fresh.letter == LETTER


@pytest.mark.parametrize("answer_expired", [False, True])
def test_draft_whose_key_published_other_content_is_refused(
    window, draft, three_readers, answer_expired
):
    fields = sheet(window, draft)
    assert (
        window.post(FORM, title="Geese", text_content="Here.", idempotency_key=draft.key).status
        == 303
    )
    if answer_expired:
        PostedForm.objects.all().delete()
    before = made()

    page = press(window, draft, fields)

    assert page.status == 422
    assert made() == before


@pytest.mark.parametrize(
    "nonsense",
    [
        {"content": "zz\0"},
        {"revision": "9" * 500, "version": "\0"},
        {"when": "\0"},
        {"when": "at", "at": "9999-12-31T23:59", "zone": "America/New_York"},
        {"when": "at", "at": "2026-10-25T07:30", "zone": "../../etc/passwd"},
    ],
)
def test_invalid_fields_publish_nothing_before_and_after_publishing(
    window, draft, three_readers, nonsense
):
    fields = sheet(window, draft)

    assert press(window, draft, fields | nonsense).status == 200
    assert made() == NOTHING
    assert press(window, draft, fields).status == 303
    assert press(window, draft, fields | nonsense).status == 422
    assert made() == ONCE


def test_a_press_without_the_drafts_own_key_publishes_nothing(window, draft, three_readers):
    fields = sheet(window, draft)

    press(window, draft, {**fields, "idempotency_key": fresh_key()})

    assert made() == NOTHING


def test_press_that_cannot_wait_gets_409_with_the_form(window, draft, three_readers):
    fields = sheet(window, draft)
    with connection.cursor() as cursor:
        for slot in slot_locks(window.author.pk, draft.key):
            cursor.execute("SELECT pg_advisory_lock(%s)", [slot])
    busy = beside(lambda: press(window, draft, fields)).result(PATIENCE_S)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")

    assert busy.status == 409
    held = busy.form_with("revision")
    assert held.action == at(draft, "publish")
    assert made() == NOTHING
    assert window.post(held.action, **held.fields).status == 303
    assert made() == ONCE


def test_a_draft_is_scheduled_for_a_time_in_a_zone(window, draft, three_readers):
    never = window.get(at(draft, "publish") + "?when=at&at=2027-03-28T01%3A30&zone=Europe%2FLisbon")
    assert "does not exist" in never.words
    assert not never.has_form_with("revision")

    then = tomorrow("UTC")
    query = "?" + urlencode({"when": "at", "at": then.local, "zone": then.zone})
    asked = window.get(at(draft, "publish") + query)
    fields = sheet(window, draft, query)
    answer = press(window, draft, fields)

    assert f"Starts {then.words}" in asked.words
    assert "Schedule for 3" in asked.words
    assert answer.status == 303
    edition = Edition.objects.get()
    assert (edition.control, edition.audience) == ("scheduled", 0)
    assert then.words in window.get(answer.answer["Location"]).words
    assert press(window, draft, fields).status == 303
    assert Edition.objects.count() == 1


@pytest.fixture
def went_out(window, draft, three_readers) -> Edition:
    press(window, draft, sheet(window, draft))
    edition = Edition.objects.get()
    hold_is_over(edition)
    sent(edition, "Ada", "Bram")
    return edition


def test_version_published_by_another_author_is_not_replayed(window, author, new_author, went_out):
    mine = begun(author, issue=went_out.issue_id)
    other = new_author("tomas", first_name="Tomás", last_name="Vale")
    theirs = save_draft.copy(
        other.pk, fresh_key(), DraftFields(title="Theirs", format="markdown", letter="Other."),
        issue=went_out.issue_id,
    ).draft  # fmt: skip
    fields = sheet(window, mine)
    tomas = WindowOf(other)
    press(tomas, theirs, sheet(tomas, theirs))

    page = press(window, mine, fields)

    assert page.status == 200
    mine.refresh_from_db()
    assert mine.edition is None
    assert Edition.objects.count() == 2
    assert press(window, mine, sheet(window, mine)).status == 303
    assert Edition.objects.get(version=3).draft == mine
