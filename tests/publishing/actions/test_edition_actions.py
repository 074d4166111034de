"""Actions on an edition, such as pause and cancel, on pages and by command."""

import json
import re

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Concat, Now
from django.utils import timezone

from delivery.models import Batch, Delivery, Edition
from delivery.queue.short_transaction import short_transaction
from delivery.reports.promise_sentence import promise_sentence
from delivery.rules.call_results import AllAccepted
from publishing.actions.edition_actions import ACTIONS, OLD_NAMES, applicable, perform
from publishing.activity.activity_sentences import code_of, plain_sentence_of
from publishing.editions.edition_status import load_status
from publishing.models import Draft
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from tests.delivery.worker_steps import Call
from tests.publishing.author_browser import address
from tests.publishing.content_factory import letter
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def publish_letter(author, settings):
    """Publish a letter to six readers in three batches."""
    settings.DELIVERY_BATCH_SIZE = 2
    Subscriber.objects.bulk_create(SubscriberFactory.build_batch(6))

    def make(hold_s=0.0):
        return publish(author.pk, "k", letter("On the patience of herons"), hold_s=hold_s).edition

    return make


def first_batch(edition):
    return Batch.objects.filter(edition=edition).order_by("pk")[0]


def went_out(batch):
    """Mark every copy of this batch as sent."""
    Delivery.objects.filter(batch=batch).update(
        outcome="sent", sent_at=timezone.now(), evidence="reply",
        provider_message_id=Concat(Value("m-"), Cast("recipient", TextField())),
    )  # fmt: skip
    Batch.objects.filter(pk=batch.pk).update(state="done", waiting=0, sent=2)


def sent(edition):
    """Mark the first batch as sent."""
    went_out(first_batch(edition))


def missed(edition):
    """Mark the first batch as failed after all tries, and the others as sent."""
    first, *others = Batch.objects.filter(edition=edition).order_by("pk")
    Delivery.objects.filter(batch=first).update(
        outcome="failed", missed=True, reason="All 10 tries are used up."
    )
    Batch.objects.filter(pk=first.pk).update(state="done", waiting=0, failed=2, missed=2)
    for batch in others:
        went_out(batch)


def parked(edition):
    """Park the first batch as unconfirmed, and mark the others as sent."""
    missed(edition)
    Delivery.objects.filter(batch=first_batch(edition)).update(
        outcome="unknown", missed=None, reason=None
    )
    Batch.objects.filter(pk=first_batch(edition).pk).update(
        state="parked", unknown=2, failed=0, missed=0, unknown_since=timezone.now()
    )


def being_sent(edition):
    """Mark batch 1 as sent and start a call with batch 2; batch 3 stays queued."""
    sent(edition)
    return Call()


def asked_and_parked(edition):
    """Park batch 1 as unconfirmed; batch 2 is unconfirmed and still looked up."""
    parked(edition)
    second = Batch.objects.filter(edition=edition).order_by("pk")[1]
    Delivery.objects.filter(batch=second).update(
        outcome="unknown", sent_at=None, evidence=None, provider_message_id=None
    )
    Batch.objects.filter(pk=second.pk).update(
        state="unknown", unknown=2, sent=0, unknown_since=timezone.now()
    )


def control(edition, **facts):
    Batch.objects.filter(edition=edition, state="ready").update(state="paused")
    Edition.objects.filter(pk=edition.pk).update(**facts)


def paused(edition):
    control(edition, control="paused")


RESTORED = {"control": "stopped", "control_reason": "Restored.", "unreconciled_since": Now()}


def names(edition):
    return {action.name for action in applicable(load_status(edition.pk))}


@pytest.mark.parametrize(
    ("hold_s", "becomes", "expected"),
    [
        (60, None, {"send-now", "call-back", "pause", "cancel"}),
        (60, {"control": "paused"}, {"call-back", "resume", "cancel"}),
        (0, sent, {"pause", "cancel"}),
        (0, {"control": "paused"}, {"resume", "cancel"}),
        (0, {"control": "stopped", "control_reason": "Failed."}, {"resume", "cancel"}),
        (0, RESTORED, {"cancel"}),
        (0, missed, {"send-to-missed", "close"}),
        (0, parked, {"ask-again", "resend-unknown", "close", "cancel"}),
        (0, {"control": "cancelled"}, set()),
        (0, {"control": "closed"}, set()),
    ],
)
def test_the_state_decides_which_actions_apply(publish_letter, hold_s, becomes, expected):
    edition = publish_letter(hold_s)
    if callable(becomes):
        becomes(edition)
    elif becomes:
        control(edition, **becomes)

    assert names(edition) == expected


@pytest.mark.parametrize("name", [*ACTIONS, *OLD_NAMES])
def test_page_and_command_refuse_actions_that_do_not_apply(publish_letter, window, name):
    edition = publish_letter()
    control(edition, control="closed")

    with pytest.raises(CommandError, match=r"^“On the patience of herons”: .*\.$"):
        call_command("edition", name, str(edition.issue_id))
    for ask in (window.get, window.post):
        assert ask(address(edition, f"{name}/")).status == 303
        assert "“On the patience of herons”: " in window.get(address(edition)).words
    assert not LogEntry.objects.filter(action_flag=CHANGE).exists()


@pytest.mark.parametrize(
    ("hold_s", "becomes", "name", "numbers", "state"),
    [
        (0, sent, "pause", "2 readers .* 4 copies", "paused"),
        (0, paused, "resume", "6 readers", "sending"),
        (60, None, "send-now", "6 copies", "sending"),
        (60, None, "call-back", "6 readers", "cancelled"),
        (0, sent, "cancel", "2 readers .* 4 copies", "cancelled"),
        (0, missed, "send-to-missed", "2 readers", "sending"),
        (0, missed, "close", "2 readers", "closed"),
        (0, parked, "ask-again", "2 copies", "sending"),
        (0, parked, "resend-unknown", "second", "sending"),
        (0, parked, "close", "2 copies", "closed"),
    ],
)
def test_the_question_shows_counts_and_the_button_acts_once(
    publish_letter, window, hold_s, becomes, name, numbers, state
):
    edition = publish_letter(hold_s)
    if becomes:
        becomes(edition)
    before = load_status(edition.pk).as_json()

    sheet = window.get(address(edition, f"{name}/"))
    assert re.search(numbers, sheet.words)
    assert load_status(edition.pk).as_json() == before

    assert window.post(address(edition, f"{name}/")).status == 303
    after = load_status(edition.pk).as_json()
    assert after["state"] == state
    window.post(address(edition, f"{name}/"))
    assert load_status(edition.pk).as_json() == after
    (entry,) = LogEntry.objects.filter(action_flag=CHANGE)
    assert code_of(entry) == (name, {"version": 1})


@pytest.mark.parametrize(
    ("name", "asks", "answers"),
    [
        (
            "pause",
            "At least 2 copies will wait. 2 copies are being sent and may still arrive.",
            "Paused. 2 copies wait until you resume. 2 copies are being sent and may still arrive.",
        ),
        (
            "cancel",
            "At least 2 copies will be withdrawn for good. 2 copies are being sent",
            "Cancelled. 2 copies were withdrawn. 2 copies are being sent and may still arrive.",
        ),
    ],
)
def test_the_question_separates_queued_and_sending_copies(
    publish_letter, window, name, asks, answers
):
    edition = publish_letter()
    call = being_sent(edition)

    assert asks in window.get(address(edition, f"{name}/")).words
    window.post(address(edition, f"{name}/"))

    page = window.get(address(edition))
    assert answers in page.words
    assert "4 copies" not in page.words
    # A note names facts, such as `settled`. When the page lists one of these facts as past, a
    # style rule hides the note.
    until = {"pause": ["resumed settled", "settled"], "cancel": ["settled"]}[name]
    assert re.findall(r'data-until="([^"]*)"', page.html) == until
    past = re.compile(r'data-past="([^"]*)"')
    assert "settled" not in past.search(page.html)[1].split()
    call.ends(AllAccepted(["m-8", "m-9"], [None, None]))
    assert "settled" in past.search(window.get(address(edition)).html)[1].split()


@pytest.mark.parametrize("unlisted", [False, True])
def test_cancel_asks_whether_the_issue_stays_in_the_archive(publish_letter, window, unlisted):
    edition = publish_letter()
    sent(edition)

    form = window.get(address(edition, "cancel/"))
    assert "Make it unlisted" in form.words
    window.post(address(edition, "cancel/"), **({"unlisted": "on"} if unlisted else {}))

    edition.issue.refresh_from_db()
    assert edition.issue.unlisted is unlisted
    assert LogEntry.objects.filter(action_flag=CHANGE).count() == 1 + unlisted


def test_cancel_does_not_ask_about_an_issue_that_reached_nobody(publish_letter, window):
    edition = publish_letter()

    assert "Make it unlisted" not in window.get(address(edition, "cancel/")).words


@pytest.mark.parametrize("name", ["ask-again", "resend-unknown"])
def test_the_question_counts_only_undecided_unconfirmed_copies(publish_letter, window, name):
    edition = publish_letter()
    asked_and_parked(edition)

    assert "2 copies" in window.get(address(edition, f"{name}/")).words
    window.post(address(edition, f"{name}/"))

    assert "2 copies" in window.get(address(edition)).words


@pytest.fixture
def mail_server(settings):
    """Send through a mail server, which cannot be asked what it accepted."""
    settings.MAIL_PROVIDER, settings.EMAIL_HOST = "django", "smtp.example.org"


def test_with_a_provider_that_cannot_be_asked_an_author_decides(
    mail_server, publish_letter, window
):
    edition = publish_letter()
    parked(edition)

    assert "If an answer is lost, an author decides" in promise_sentence()
    page = window.get(address(edition)).words
    assert "smtp.example.org could not say what it accepted." in page
    assert names(edition) == {"treat-as-sent", "resend-unknown", "close", "cancel"}
    question = window.get(address(edition, "treat-as-sent/")).words
    assert "2 copies left for smtp.example.org, and no answer came back." in question
    assert "A reader whose copy was lost gets none." in question

    for _ in range(2):
        assert window.post(address(edition, "treat-as-sent/")).status == 303
    assert load_status(edition.pk).counts.sent == 6
    assert "2 copies count as sent now." in window.get(address(edition)).words
    (entry,) = LogEntry.objects.filter(action_flag=CHANGE)
    assert code_of(entry) == ("treat-as-sent", {"version": 1})


def test_the_progress_page_offers_exactly_what_applies(publish_letter, window):
    edition = publish_letter(60)

    html = window.get(address(edition)).html

    offered = set(re.findall(r'id="do-([a-z-]+)"', html))
    assert offered == {"send-now", "call-back", "pause", "cancel"}
    assert window.get(address(edition, "explode/")).status == 404


def test_the_command_prints_the_state_and_records_the_superuser(publish_letter, author, capsys):
    author.is_superuser = True
    author.save()
    edition = publish_letter()

    call_command("edition", "pause", str(edition.issue_id))

    status = json.loads(capsys.readouterr().out)
    assert status["state"] == "paused"
    assert (status["waiting"], status["audience"]) == (6, 6)
    (entry,) = LogEntry.objects.filter(action_flag=CHANGE)
    assert plain_sentence_of(entry) == (
        "Edith Marlow paused On the patience of herons. This was done on the command line."
    )
    assert entry.user == author


def test_the_rest_of_a_cancelled_issue_needs_the_check_sheet(publish_letter, window):
    edition = publish_letter()
    sent(edition)
    button = 'id="do-remaining"'
    assert button not in window.get(address(edition)).html
    window.post(address(edition, "cancel/"))
    page = window.get(address(edition))
    assert button in page.html
    assert "Send to the remaining 4 readers…" in page.words

    answer = window.post(address(edition, "remaining/"))

    (draft,) = Draft.objects.all()
    assert (draft.goes_to, draft.issue_id, draft.edition) == ("unreached", edition.issue_id, None)
    assert answer.answer["Location"] == f"/admin/newsletters/drafts/{draft.pk}/check/"
    assert "to 4…" in window.get(answer.answer["Location"]).words
    assert window.post(address(edition, "remaining/")).answer["Location"].endswith("/check/")
    assert Draft.objects.count() == 1
    # If the author chose other readers for the draft, the page does not offer the draft for the
    # remaining readers.
    Draft.objects.update(goes_to="everyone")
    assert button not in window.get(address(edition)).html
    refused = window.post(address(edition, "remaining/"))
    assert refused.answer["Location"] == address(edition).partition("?")[0]


class _PowerCutError(Exception):
    """An error that stops an action in the middle, as a power cut would."""


@pytest.mark.parametrize("name", ["pause", "send-now", "call-back", "cancel"])
def test_an_action_and_its_log_entry_share_one_transaction(publish_letter, name):
    edition = publish_letter(hold_s=600)
    before = load_status(edition.pk).as_json()

    def cut(verb: str) -> None:
        raise _PowerCutError

    with pytest.raises(_PowerCutError):
        perform(name, edition, load_status(edition.pk), record=cut)

    assert load_status(edition.pk).as_json() == before
    assert not Draft.objects.exists()


def test_an_action_refuses_to_run_inside_another_transaction(publish_letter):
    edition = publish_letter(hold_s=600)
    status = load_status(edition.pk)

    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        perform("pause", edition, status, record=lambda _: None)

    assert load_status(edition.pk).as_json() == status.as_json()


def test_an_action_leaves_the_transaction_guard_in_place(publish_letter):
    edition = publish_letter(hold_s=600)

    perform("pause", edition, load_status(edition.pk), record=lambda _: None)

    with pytest.raises(RuntimeError, match="durable"), transaction.atomic(), short_transaction():
        pass
