"""A new sender is used only after Postmark accepted a test letter from it."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError

from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.models import Alarm, Delivery, Edition, Newsletter
from idempotency.key import fresh_key
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.external_checks.cached_results import DOMAIN, save
from publishing.settings.sender_candidate import (
    Candidate,
    CandidateState,
    load_candidate,
    use_candidate,
)
from tests.publishing.preflight.context_factory import domain, records

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/newsletters/settings/sender/"
ADA = {
    "sender_name": 'Ada "Tide" Lee',
    "sender_address": "ada@Almanack.org",
    "test_email": "ola@elsewhere.example.com",
}
MAILBOX = '"Ada \\"Tide\\" Lee" <ada@almanack.org>'


def tried(window, **changes):
    """Post the form that tries a sender, each time with a new key."""
    return window.post(PAGE, **{"idempotency_key": fresh_key(), **ADA, **changes})


def test_an_accepted_sender_is_used_after_one_press(window, worker, provider):
    before = Newsletter.objects.get_current().sender
    assert tried(window).status == 303
    assert "It waits for a worker" in window.get(PAGE).words
    worker.deliver_all()
    (item,) = [provider.sandbox.outbox.message(0).item]
    assert (item["From"], item["To"]) == (MAILBOX, ADA["test_email"])
    assert Newsletter.objects.get().sender == before

    number = load_candidate().letter.version
    assert "Use this sender" in window.get(PAGE).words
    for _ in range(2):
        assert window.post(f"{PAGE}use/", number=number).status == 303

    assert Newsletter.objects.get().sender == MAILBOX
    assert "Letters are sent from this address now." in window.get(PAGE).words
    (entry,) = LogEntry.objects.all()
    assert plain_sentence_of(entry).endswith(f"to {MAILBOX}.")


def test_a_refused_sender_stops_no_newsletter(window, worker, provider):
    issue = worker.publish(readers=1)
    tried(window)
    provider.sandbox.set_fault("whole_422", code=400, calls=1)
    worker.deliver_all()

    page = window.get(PAGE)
    assert "Postmark refused it" in page.words
    assert "open Sender Signatures" in page.words
    window.post(f"{PAGE}use/", number=load_candidate().letter.version)
    assert "The sender was not changed." in window.get(PAGE).words
    assert not Newsletter.objects.get().sender_address
    assert worker.state(issue) == "succeeded"
    assert not Alarm.objects.exists()


def test_a_sender_is_not_used_after_another_was_tried(window, worker, operator):
    tried(window)
    worker.deliver_all()
    first = load_candidate().letter.version
    tried(window, sender_address="eve@almanack.org")

    assert not use_candidate(first, operator.pk)
    assert not use_candidate(load_candidate().letter.version, operator.pk)  # its letter is queued
    assert not Newsletter.objects.get().sender_address


def test_the_same_form_sends_one_test_letter(window, settings):
    settings.TESTS_PER_HOUR = 2
    for _ in range(2):
        assert tried(window, idempotency_key="once").status == 303
    assert tried(window, idempotency_key="once", sender_name="Eve").status == 303
    assert tried(window).status == 429
    assert Edition.objects.filter(issue_id=TEST_ISSUE).count() == 2


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"sender_address": "ada"}, "@"),
        ({"sender_name": "Ada\x07"}, "one line"),
        (
            {"sender_name": "A" * 100, "sender_address": f"{'a' * 64}@{'b' * 60}.{'c' * 60}.org"},
            "Shorten",
        ),
        ({"test_email": ""}, "such as ada@example.org"),
    ],
)
def test_a_bad_sender_is_refused_with_a_reason(window, changes, error):
    page = tried(window, **changes)
    assert page.status == 200
    assert error in page.words
    assert not Edition.objects.exists()


def test_the_page_shows_the_records_of_the_domain(window):
    tried(window)
    assert "have not been looked up yet" in window.get(PAGE).words
    found = domain(dmarc=records())
    save(DOMAIN, {found.domain: found})
    words = window.get(PAGE).words
    assert "SPF passes: the return path of almanack.org leads to Postmark." in words
    assert "almanack.org has no DMARC record" in words
    assert "pm-bounces.almanack.org with the value pm.mtasv.net" in words


@pytest.mark.parametrize(
    ("outcome", "name", "state"),
    [
        ("waiting", "", CandidateState.WAITING),
        ("unknown", "Ada", CandidateState.WAITING),
        ("sent", "", CandidateState.ACCEPTED),
        ("sent", "Ada", CandidateState.IN_USE),
        ("failed", "Ada", CandidateState.REFUSED),
        ("suppressed", "", CandidateState.NOT_SENT),
    ],
)
def test_state_follows_the_answer_to_the_test_letter(outcome, name, state):
    in_use = Newsletter(sender_name=name, sender_address="a@tides.example")
    found = Candidate("Ada", "a@tides.example", "", Delivery(outcome=outcome), in_use)
    assert found.state == state


def test_only_a_test_letter_may_have_a_sender(worker):
    copy = worker.publish(readers=1)
    copy.pk, copy.version, copy.idempotency_key, copy.sender = None, 2, None, "a@tides.example"
    with pytest.raises(IntegrityError, match="only_a_test_letter_tries_a_sender"):
        copy.save(force_insert=True)
