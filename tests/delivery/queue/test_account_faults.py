"""A fault that affects every copy stops the edition, without failed readers."""

import uuid

import pytest
from django.db import connection, transaction

from delivery.models import Attempt, Edition, Newsletter
from delivery.queue.claim_due_batch import claim
from delivery.queue.edition_control import pause, resume, stop
from delivery.queue.settle_batch import settle_call
from delivery.queue.short_transaction import lock_edition
from delivery.queue.start_call import start
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.outcomes import Next, Sent, Settlement
from subscribers.models import Subscriber
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import begun, claim_next_batch
from tests.publishing.second_connection import PATIENCE_S, beside

# Each fault, with a word that its sentence must contain because the word names the fix.
FAULTS = [
    ("unauthorized_401", {}, "POSTMARK_SERVER_TOKEN"),
    ("whole_422", {"code": 400}, "another sender under Settings"),
    ("whole_422", {"code": 412}, "approved"),
    ("item_error", {"code": 4711}, "does not know this code"),
]


@pytest.mark.parametrize(("fault", "how", "word"), FAULTS)
def test_account_fault_stops_the_edition_without_using_tries(
    newsroom: Newsroom, fault: str, how: dict[str, int], word: str
) -> None:
    edition = newsroom.publish(readers=6, batch_size=2)
    newsroom.sandbox.set_fault(fault, calls=None, **how)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "needs_attention"
    stopped = Edition.objects.get(pk=edition.pk)
    assert word in reason_sentence(stopped.control_reason)
    assert newsroom.outcomes(edition) == ["waiting"] * 6
    assert {batch.tries for batch in newsroom.batches(edition)} == {0}
    assert len(newsroom.attempts(edition)) == 1


def test_stopped_issue_continues_with_the_new_sender(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    newsroom.sandbox.set_fault("whole_422", code=400, calls=1)
    newsroom.deliver_all()
    Newsletter.objects.update_or_create(
        pk=1, defaults={"sender_name": 'Ada "Tide" Lee', "sender_address": "ada@tides.example"}
    )
    assert resume(edition.pk)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "succeeded"
    items = [newsroom.sandbox.outbox.message(number).item for number in range(2)]
    assert {item["From"] for item in items} == {'"Ada \\"Tide\\" Lee" <ada@tides.example>'}


def test_other_editions_continue_while_one_is_stopped(newsroom: Newsroom) -> None:
    stopped = newsroom.publish(readers=3)
    other = newsroom.publish()
    newsroom.sandbox.set_fault("item_error", code=411, calls=1)
    newsroom.deliver_all()
    assert newsroom.state(stopped) == "needs_attention"
    assert newsroom.state(other) == "succeeded"


def test_a_batch_claimed_before_the_stop_starts_no_call(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, batch_size=2)
    claimed = claim_next_batch()
    newsroom.sandbox.set_fault("unauthorized_401", calls=1)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "needs_attention"
    assert start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5) == []


def test_resume_sends_one_probe_batch_first(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=6, batch_size=2)
    newsroom.sandbox.set_fault("unauthorized_401", calls=1)
    newsroom.deliver_all()
    assert resume(edition.pk)
    assert [batch.state for batch in newsroom.batches(edition)] == ["ready", "paused", "paused"]
    newsroom.step()
    assert [batch.state for batch in newsroom.batches(edition)] == ["done", "ready", "ready"]
    newsroom.deliver_all()
    assert newsroom.state(edition) == "succeeded"
    assert newsroom.sandbox.summary()["accepted"] == 6


def test_an_edition_that_is_not_stopped_has_nothing_to_resume(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    assert not resume(edition.pk)


def test_repeated_proxy_block_stops_the_edition(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.sandbox.set_fault("forbidden_403_html", calls=None)
    for _ in range(2):
        newsroom.deliver_all()
        assert newsroom.state(edition) == "sending"
        newsroom.let_time_pass(901)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "needs_attention"


@pytest.fixture
def resumed(newsroom: Newsroom) -> Edition:
    """Resume three batches of one copy after a fault; two wait for the probe."""
    edition = newsroom.publish(readers=3, batch_size=1)
    newsroom.sandbox.set_fault("unauthorized_401", calls=1)
    newsroom.deliver_all()
    assert resume(edition.pk)
    return edition


def test_parked_probe_releases_the_rest(newsroom: Newsroom, resumed: Edition) -> None:
    for _ in range(2):
        assert claim(uuid.uuid4(), lease_s=30)
        newsroom.let_time_pass(31)
        newsroom.recover_expired_leases()
    newsroom.deliver_all()
    assert sorted(newsroom.outcomes(resumed)) == ["failed", "sent", "sent"]


def test_an_empty_first_batch_does_not_end_the_probe(newsroom: Newsroom, resumed: Edition) -> None:
    Subscriber.objects.filter(email="reader0@example.net").update(
        state=Subscriber.State.UNSUBSCRIBED, unsubscribed_at=resumed.published_at
    )
    newsroom.step()
    assert [batch.state for batch in newsroom.batches(resumed)] == ["done", "ready", "paused"]
    newsroom.deliver_all()
    assert newsroom.state(resumed) == "succeeded"
    assert newsroom.sandbox.summary()["accepted"] == 2


def test_a_look_up_does_not_end_the_probe(newsroom: Newsroom, resumed: Edition) -> None:
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.step()
    newsroom.let_time_pass(61)
    newsroom.step()
    assert [batch.state for batch in newsroom.batches(resumed)] == ["done", "ready", "paused"]
    newsroom.deliver_all()
    assert newsroom.outcomes(resumed) == ["sent"] * 3


def test_a_deferred_call_does_not_end_the_probe(newsroom: Newsroom, resumed: Edition) -> None:
    newsroom.sandbox.set_fault("maintenance_503", calls=1)
    newsroom.step()
    assert [batch.state for batch in newsroom.batches(resumed)] == ["ready", "paused", "paused"]


def test_probe_judged_in_a_pause_releases_no_batch(newsroom: Newsroom, resumed: Edition) -> None:
    claimed, attempt, (reader,) = begun()
    assert pause(resumed.pk)
    accepted = Settlement(outcomes={reader: Sent("m-1", None)}, next=Next.DONE)
    assert settle_call(claimed, attempt, accepted, Attempt.Result.ANSWERED)
    assert [batch.state for batch in newsroom.batches(resumed)] == ["done", "paused", "paused"]


def test_no_batch_becomes_the_next_probe_during_a_pause(
    newsroom: Newsroom, resumed: Edition
) -> None:
    claimed, attempt, _ = begun()
    assert pause(resumed.pk)
    put_off = Settlement(
        outcomes={}, next=Next.TRY_AGAIN, reason=because("Slower."), new_deferrals=1
    )
    assert settle_call(claimed, attempt, put_off, Attempt.Result.REFUSED)
    assert {batch.state for batch in newsroom.batches(resumed)} == {"paused"}


def test_stop_and_start_do_not_deadlock(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    claimed = claim_next_batch()

    def stop_it() -> str:
        with transaction.atomic(), connection.cursor() as cursor:
            lock_edition(cursor, edition.pk)
            stop(cursor, edition.pk, because("The token is wrong."))
        return "stopped"

    # The starting session locks its batch and waits in its last check. The stopping session locks
    # the edition and waits for the batch of the starting session. If the starting session then
    # needed the edition, the two sessions would deadlock.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE subscriber IN ACCESS EXCLUSIVE MODE")
        starting = beside(
            lambda: start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5)
        )
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        stopping = beside(stop_it)
        newsroom.wait_for_a_backend_that_waits_for_a_lock(sessions=2)

    assert stopping.result(PATIENCE_S) == "stopped"
    assert starting.result(PATIENCE_S)
    assert newsroom.state(edition) == "needs_attention"
