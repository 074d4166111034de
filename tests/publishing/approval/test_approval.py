"""Publication when a second person's approval is required."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.urls import reverse

from delivery.models import Delivery, Edition, Newsletter
from idempotency.models import PostedForm
from publishing.actions.edition_actions import CannotDoThatError, perform, refusal_of
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.approval.record_approval import (
    CannotApproveError,
    NeedsApprovalError,
    approval_hash,
    approval_refusal,
    approve,
    approver_of,
    needs_approval,
)
from publishing.content.draft_content import build_content
from publishing.editions.start_scheduled import start_due
from publishing.models import Draft
from publishing.publish.publish_draft import Confirmation, DraftChangedError, publish_draft
from publishing.settings.change_settings import SettingRefusedError, change_settings
from subscribers.models import ReaderFieldDefinition, Tag
from tests.publishing.author_browser import FORM, WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import make_edition_due, status, tomorrow
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)

TAKES_TWO = "requires a second person's approval"


@pytest.fixture
def two(transactional_db):
    """Require a second person's approval, and return the newsletter."""
    newsletter = Newsletter.objects.get_current()
    newsletter.second_person = True
    newsletter.save()
    return newsletter


@pytest.fixture
def basil(new_author):
    """Create Basil Reed, who may publish too."""
    return new_author("basil", first_name="Basil", last_name="Reed")


@pytest.fixture
def draft(author):
    """Create a draft that Edith wrote."""
    return Draft.objects.create(
        title="Swifts", letter="They have *gone*.", created_by=author, saved_by=author
    )


def approved(draft, by):
    approve(draft.pk, by.pk, approval_hash(draft))
    draft.refresh_from_db()
    return draft


def the_database_refuses_a_copy_of(edition, **people):
    """Check that the database refuses a copy of the edition that names these people."""
    copy = Edition.objects.get(pk=edition.pk)
    others = {"pk": None, "version": 2, "idempotency_key": "k2", **people}
    for name, value in others.items():
        setattr(copy, name, value)
    with pytest.raises(IntegrityError, match="two_people_stand_behind_an_approved_edition"):
        copy.save(force_insert=True)


def test_without_the_setting_one_person_can_publish(author, basil, three_readers):
    assert not needs_approval()
    edition = publish(author.pk, "key", letter(), hold_s=0, approved_by=author.pk).edition

    assert edition.approved_by_id is None
    assert Delivery.objects.count() == 3
    the_database_refuses_a_copy_of(edition, approved_by_id=author.pk)

    # Once approval is required, a repeat of the earlier call still gets the first answer. A call
    # that publishes the next version is refused.
    Newsletter.objects.update(second_person=True)
    again = publish(author.pk, "key", letter(), hold_s=0, approved_by=author.pk)
    assert (again.created, again.edition) == (False, edition)
    with pytest.raises(NeedsApprovalError):
        publish(author.pk, "k", letter(text="Two."), hold_s=0, issue=edition.issue_id, version=2)


def test_required_approval_stops_publication_without_it(two, author, three_readers):
    for alone in (None, author.pk):
        with pytest.raises(NeedsApprovalError, match=TAKES_TWO):
            publish(author.pk, "key", letter(), hold_s=0, approved_by=alone)

    assert not Edition.objects.exists()
    assert not Delivery.objects.exists()


def test_edition_and_log_name_the_second_person(two, author, basil, three_readers):
    edition = publish(author.pk, "key", letter(), hold_s=0, approved_by=basil.pk).edition

    edition.refresh_from_db()
    assert edition.approved_by_id == basil.pk
    assert plain_sentence_of(LogEntry.objects.get()) == (
        "Edith Marlow published Swifts leave without saying goodbye to 3 readers. "
        "Basil Reed approved it."
    )


@pytest.mark.parametrize("gone", ["permission", "account"])
def test_approver_without_permission_does_not_count(two, author, basil, gone):
    if gone == "permission":
        basil.user_permissions.clear()
    else:
        basil.is_active = False
        basil.save()

    with pytest.raises(NeedsApprovalError, match=TAKES_TWO):
        publish(author.pk, "key", letter(), hold_s=0, approved_by=basil.pk)


def test_publication_waits_for_the_approval_setting_and_is_refused(author):
    Newsletter.objects.get_current()
    with transaction.atomic():
        Newsletter.objects.update(second_person=True)
        publishing = beside(lambda: publish(author.pk, "key", letter(), hold_s=0))
        wait_until_somebody_waits()

    with pytest.raises(NeedsApprovalError):
        publishing.result(PATIENCE_S)
    assert not Edition.objects.exists()


def test_switching_approval_on_waits_for_running_publications(author):
    Newsletter.objects.get_current()
    with transaction.atomic():
        publish(author.pk, "key", letter(), hold_s=0)
        switching = beside(lambda: Newsletter.objects.update(second_person=True))
        wait_until_somebody_waits()
        assert not switching.done()

    assert switching.result(PATIENCE_S) == 1
    assert Edition.objects.count() == 1


def test_form_without_approval_keeps_text_and_frees_key(two, window, three_readers):
    fields = window.open_form()

    page = window.post(**fields)

    assert page.status == 200
    assert "The form has 1 error" in page.words
    again = page.form_with("title").fields
    assert {name: again[name] for name in ("title", "html_content", "text_content")} == {
        name: fields[name] for name in ("title", "html_content", "text_content")
    }
    assert again["idempotency_key"] == fields["idempotency_key"]
    assert not PostedForm.objects.exists()
    assert not Edition.objects.exists()

    Newsletter.objects.update(second_person=False)
    assert window.post(**again).status == 303
    assert Edition.objects.count() == 1


def test_form_published_before_approval_was_required_is_replayed(window, three_readers):
    fields = window.open_form()
    assert window.post(**fields).status == 303
    Newsletter.objects.update(second_person=True)

    assert window.post(**fields).status == 303
    PostedForm.objects.all().delete()  # as if they had expired
    assert window.post(**fields).status == 303
    assert Edition.objects.count() == 1


def test_script_without_approval_is_refused_with_a_sentence(two, author, tmp_path):
    text = tmp_path / "letter.txt"
    text.write_text("They have gone.")

    with pytest.raises(CommandError, match=TAKES_TWO):
        call_command("publish", "--title", "Swifts", "--text-file", str(text), "--author", "edith")

    assert not Edition.objects.exists()


@pytest.mark.parametrize(
    "edit",
    [
        {"title": "Swallows"},
        {"preview_text": "They have gone"},
        {"letter": "They have gone."},
        {"text": "Gone."},
        {"format": "html"},
        {"goes_to": "reached"},
        {"archive": "unlisted"},
    ],
)
def test_any_edit_removes_the_approval_and_undoing_restores_it(two, author, basil, draft, edit):
    assert approval_refusal(draft, author.pk)
    approved(draft, basil)
    assert approver_of(draft) == basil.pk
    assert approval_refusal(draft, author.pk) == ""
    before = {name: getattr(draft, name) for name in edit}

    Draft.objects.filter(pk=draft.pk).update(**edit, revision=2)
    draft.refresh_from_db()
    assert approver_of(draft) is None
    assert "Basil Reed" in approval_refusal(draft, author.pk)

    Draft.objects.filter(pk=draft.pk).update(**before, revision=3)
    draft.refresh_from_db()
    assert approver_of(draft) is not None


@pytest.mark.parametrize(
    ("published", "chosen"), [("none", ""), ("none", "public"), ("public", "none")]
)
def test_approval_covers_the_page_that_the_issue_keeps(
    two, author, basil, three_readers, published, chosen
):
    first = publish(
        author.pk, "key", letter(), hold_s=0, approved_by=basil.pk, archive=published
    ).edition
    draft = Draft.objects.create(
        issue=first.issue, letter="Two.", title="Two", archive=chosen, saved_by=author
    )
    sheet = WindowOf(basil).get(address_of(draft, "check")).form_with("seen")
    WindowOf(basil).post(sheet.action, **sheet.fields)

    window = WindowOf(author)
    asked = window.get(address_of(draft, "publish") + "?when=now").form_with("revision")
    assert window.post(asked.action, **asked.fields).status == 303
    second = Edition.objects.get(version=2)
    assert second.approved_by_id == basil.pk
    assert ("archive_url" in second.html_mail) == (published == "public")


def test_unseen_version_is_not_approved(two, author, basil, draft):
    seen = approval_hash(draft)
    Draft.objects.filter(pk=draft.pk).update(letter="Something else.", revision=2)

    with pytest.raises(CannotApproveError, match="changed after you opened"):
        approve(draft.pk, basil.pk, seen)
    # A published draft cannot be approved either.
    edition = publish(basil.pk, "key", letter(), hold_s=0, approved_by=author.pk).edition
    Draft.objects.filter(pk=draft.pk).update(edition=edition)
    with pytest.raises(CannotApproveError):
        approve(draft.pk, basil.pk, approval_hash(Draft.objects.get(pk=draft.pk)))

    draft.refresh_from_db()
    assert draft.approved_by_id is None


def test_approving_needs_the_permission_to_publish(two, new_author, draft):
    willa = new_author("willa", "write_draft")

    with pytest.raises(CannotApproveError, match="permission to publish"):
        approve(draft.pk, willa.pk, approval_hash(draft))
    page = WindowOf(willa).post(address_of(draft), seen=approval_hash(draft).hex())
    assert page.status == 403


def test_an_approver_cannot_publish_the_same_draft(two, author, basil, draft):
    approved(draft, basil)
    approved(draft, basil)
    entry = LogEntry.objects.get()
    assert (entry.user, "revision 1" in plain_sentence_of(entry)) == (basil, True)

    assert approval_refusal(draft, basil.pk)
    with pytest.raises(NeedsApprovalError):
        publish(basil.pk, "key", build_content(draft.fields), hold_s=0, approved_by=basil.pk)


@pytest.mark.parametrize("gone", ["permission", "account", "person"])
def test_an_approval_ends_when_the_approver_loses_permission(two, author, basil, draft, gone):
    approved(draft, basil)
    if gone == "permission":
        basil.user_permissions.clear()
    elif gone == "account":
        get_user_model().objects.filter(pk=basil.pk).update(is_active=False)
    else:
        LogEntry.objects.all().delete()
        basil.delete()
    draft.refresh_from_db()

    assert approver_of(draft) is None
    assert approval_refusal(draft, author.pk)


def test_concurrently_saved_text_is_not_approved(two, basil, draft):
    """Somebody changes the text between the approval's read and its write."""
    with transaction.atomic():
        Draft.objects.filter(pk=draft.pk).update(letter="Something else.", revision=2)
        approving = beside(lambda: approve(draft.pk, basil.pk, approval_hash(draft)))
        wait_until_somebody_waits()

    with pytest.raises(CannotApproveError):
        approving.result(PATIENCE_S)
    draft.refresh_from_db()
    assert draft.approved_by_id is None


def address_of(draft, page="approve"):
    return f"{FORM}drafts/{draft.pk}/{page}/"


def test_button_approves_the_seen_version_and_returns_to_sheet(two, basil, draft):
    window = WindowOf(basil)
    window.get(address_of(draft))  # opening the page approves nothing
    for seen in ("", "no hash", "ab" * 32, "\x00"):
        assert window.post(address_of(draft), seen=seen).status == 303
    assert approver_of(Draft.objects.get(pk=draft.pk)) is None

    page = window.post(address_of(draft), seen=approval_hash(draft).hex())

    assert page.status == 303
    assert page.answer["Location"] == address_of(draft, "check")
    draft.refresh_from_db()
    assert approver_of(draft) == basil.pk


@pytest.mark.parametrize(
    "change",
    [
        {"footer": "Another footer"},
        {"postal_address": "Another Street 1"},
        {"sender_name": "Another", "sender_address": "another@example.org"},
        {"reply_to": "another@example.org"},
        {"name": "Another Letter"},
        {"accent": "#7a1f1f"},
        {"language": "de"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_approval_is_for_the_mail_that_is_sent(two, author, basil, draft, change):
    approved(draft, basil)
    seen = approval_hash(draft)
    before = {name: getattr(two, name) for name in change}

    Newsletter.objects.update(**change)
    assert approver_of(draft) is None
    refused = approval_refusal(draft, author.pk)
    assert "The approval by Basil Reed is no longer valid" in refused
    assert "the sender, the footer or the look" in refused
    confirmed = Confirmation(draft.revision, build_content(draft.fields).sha256, 1, None)
    with pytest.raises(DraftChangedError, match=TAKES_TWO), transaction.atomic():
        publish_draft(author.pk, draft.pk, confirmed)
    with pytest.raises(CannotApproveError, match="a setting of the letter"):
        approve(draft.pk, basil.pk, seen)

    Newsletter.objects.update(**before)
    with transaction.atomic():
        edition = publish_draft(author.pk, draft.pk, confirmed)
    assert edition.approved_by_id == basil.pk


def test_an_approval_covers_fallbacks_and_the_link_to_topics(two, author, basil, draft):
    for position, key in enumerate(("city", "unused"), 1):
        ReaderFieldDefinition.objects.create(key=key, label=key, fallback="a", position=position)
    Draft.objects.filter(pk=draft.pk).update(letter="From {{ city }}")
    draft.refresh_from_db()
    approved(draft, basil)

    ReaderFieldDefinition.objects.filter(key="unused").update(fallback="b")
    assert approver_of(draft) == basil.pk
    ReaderFieldDefinition.objects.filter(key="city").update(fallback="b")
    assert approver_of(draft) is None
    ReaderFieldDefinition.objects.filter(key="city").update(fallback="a")
    assert approver_of(draft) == basil.pk
    Tag.objects.create(name="Birds", is_topic=True)
    assert approver_of(draft) is None


@pytest.fixture
def scheduled(two, author, basil):
    """Return an approved, due edition; the newsletter changed after the approval."""
    moment = tomorrow()
    asked = publish(author.pk, "key", letter(), hold_s=0, approved_by=basil.pk, at=moment)
    make_edition_due(asked.edition)
    Newsletter.objects.update(reply_to="another@example.org")
    return asked.edition


def act(name, edition):
    perform(name, edition, status(edition), record=lambda _: None)


def test_a_scheduled_issue_with_an_unapproved_sender_is_paused(scheduled, three_readers):
    assert start_due()
    assert status(scheduled).state == "paused"
    assert "was changed after this issue was approved" in status(scheduled).reason()
    with pytest.raises(CannotDoThatError, match="after the approval"):
        act("resume", scheduled)
    Newsletter.objects.update(reply_to="")
    act("resume", scheduled)
    assert status(scheduled).state == "sending"


def test_the_page_says_that_an_unapproved_sender_cannot_send(
    scheduled, author, django_assert_num_queries
):
    page = WindowOf(author).get(f"/admin/newsletters/{scheduled.issue_id}/").words
    assert "This issue cannot be sent: the sender" in page
    assert "Goes out on" not in page
    # A list makes this check once for every issue, so the check itself must make no query.
    found = status(scheduled)
    with django_assert_num_queries(0):
        refusal_of("reschedule", found)


def test_a_paused_issue_becomes_a_draft_that_needs_approval(scheduled, author, three_readers):
    with pytest.raises(CannotDoThatError, match="after the approval"):
        act("send-now", scheduled)
    assert start_due()
    act("cancel", scheduled)
    assert TAKES_TWO in approval_refusal(Draft.objects.get(edition=None), author.pk)


@pytest.mark.parametrize("change", [{"reply_to": ""}, {"second_person": False}])
def test_the_approved_sender_or_no_rule_starts_the_issue(scheduled, three_readers, change):
    Newsletter.objects.update(**change)
    assert start_due()
    assert status(scheduled).state == "sending"


@pytest.fixture
def held(two, author, basil, three_readers):
    """Return an approved edition in its hold."""
    return publish(author.pk, "key", letter(), hold_s=300, approved_by=basil.pk).edition


def test_a_changed_sender_pauses_an_approved_issue_in_hold(held, author):
    change_settings({"tagline": "Every Sunday"}, author.pk)
    assert status(held).state == "held"
    change_settings({"reply_to": "another@example.org"}, author.pk)
    assert status(held).state == "paused"
    assert "was changed after this issue was approved" in status(held).reason()
    with pytest.raises(CannotDoThatError, match="after the approval"):
        act("resume", held)
    change_settings({"reply_to": ""}, author.pk)
    act("resume", held)
    assert status(held).state == "held"


def test_a_paused_issue_needs_the_approved_sender_to_resume(held, author):
    act("pause", held)
    change_settings({"name": "Another Letter"}, author.pk)
    with pytest.raises(CannotDoThatError, match="after the approval"):
        act("resume", held)


def test_a_stopped_issue_may_get_another_sender(held, author):
    Edition.objects.update(control="stopped", control_at=Now(), control_reason="No such sender.")
    change_settings({"reply_to": "another@example.org"}, author.pk)
    act("resume", held)
    assert status(held).state == "held"


def test_a_writer_and_the_approver_publish_by_setting(two, new_author, author, three_readers):
    willa = new_author("willa", "write_draft")
    draft = Draft.objects.create(
        title="Swifts", letter="Gone.", created_by=willa, saved_by=willa, goes_to="everyone"
    )
    alone = "so you may approve it and publish it."
    assert alone not in approval_refusal(draft, author.pk)
    Newsletter.objects.update(approver_may_publish=True)
    assert approval_refusal(draft, author.pk).endswith(alone)
    assert alone not in approval_refusal(draft, willa.pk)
    Newsletter.objects.update(approver_may_publish=False)
    approved(draft, author)
    confirmed = Confirmation(draft.revision, build_content(draft.fields).sha256, 1, None)
    assert "another author must publish it" in approval_refusal(draft, author.pk)
    assert "No other account may publish." in approval_refusal(draft, author.pk)
    with pytest.raises(DraftChangedError, match=TAKES_TWO), transaction.atomic():
        publish_draft(author.pk, draft.pk, confirmed)

    Newsletter.objects.update(approver_may_publish=True)
    assert approval_refusal(draft, author.pk) == ""
    Draft.objects.update(saved_by=author)  # the author's own text still needs a second person
    draft.refresh_from_db()
    assert "saved it last" in approval_refusal(draft, author.pk)
    draft.saved_by = None  # as if the account had been deleted
    assert "the account that saved it last was deleted" in approval_refusal(draft, author.pk)
    with pytest.raises(DraftChangedError, match=TAKES_TWO), transaction.atomic():
        publish_draft(author.pk, draft.pk, confirmed)
    Draft.objects.update(saved_by=willa)
    with transaction.atomic():
        edition = publish_draft(author.pk, draft.pk, confirmed)
    people = (edition.author_id, edition.approved_by_id, edition.written_by_id)
    assert people == (author.pk, author.pk, willa.pk)
    the_database_refuses_a_copy_of(edition, written_by_id=author.pk)


@pytest.mark.parametrize("account", ["none", "writer", "disabled", "no_staff"])
def test_approval_cannot_be_required_with_one_publisher(author, new_author, window, account):
    if account == "writer":
        new_author("willa", "write_draft")
    elif account != "none":
        new_author("cora")
        facts = {"is_active": False} if account == "disabled" else {"is_staff": False}
        get_user_model().objects.filter(username="cora").update(**facts)
    with pytest.raises(SettingRefusedError, match="1 person may publish now: Edith Marlow"):
        change_settings({"second_person": True}, author.pk)
    assert not needs_approval()
    new_author("basil")
    assert change_settings({"second_person": True}, author.pk) == ["second_person"]
    # If too few publishers are left, users can still change other settings, and unset this one.
    get_user_model().objects.filter(username="basil").delete()
    assert change_settings({"tagline": "Weekly"}, author.pk) == ["tagline"]
    assert change_settings({"second_person": False}, author.pk) == ["second_person"]


def test_pages_say_who_approves_and_why_not(author, new_author):
    olaf = new_author("olaf", "change_newsletter")
    window = WindowOf(olaf)
    form = window.get(f"{FORM}settings/newsletter/").form_with("tagline").fields
    page = window.post(f"{FORM}settings/newsletter/", **form | {"second_person": "on"})
    assert page.status == 200
    assert "1 person may publish now: Edith Marlow." in page.words
    Newsletter.objects.update(second_person=True)
    settings = window.get(reverse("readers:settings")).words
    assert "May approve and publish Edith Marlow" in settings
    assert "Fewer than two people may publish" in settings
