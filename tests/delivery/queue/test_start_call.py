"""The attempt is recorded before the call, and every delivery is checked again."""

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.models import Alarm, Attempt, Batch, Delivery, Evidence
from delivery.queue.claim_due_batch import claim
from delivery.queue.edition_control import pause_automatically
from delivery.queue.short_transaction import short_transaction
from delivery.queue.start_call import start
from postmark_sandbox.server import SandboxServer
from subscribers.models import Subscriber, Suppression
from tests.delivery.edition_factory import Newsroom
from tests.delivery.recorded_acceptance import put_on_record
from tests.delivery.worker_steps import changed, claim_next_batch
from tests.publishing.second_connection import PATIENCE_S, beside


@contextmanager
def a_call_held_by(provider: SandboxServer, newsroom: Newsroom, moment: str) -> Iterator[None]:
    """Hold a worker in its call: the provider has the request but does not answer yet."""
    provider.sandbox.set_fault("hold", moment=moment, calls=1)

    worker = beside(newsroom.step)
    assert provider.sandbox.gate.wait_until(lambda: provider.sandbox.gate.held == 1, 30)
    try:
        yield
    finally:
        provider.sandbox.gate.release()
        worker.result(PATIENCE_S)


def test_an_attempt_is_committed_before_a_call(newsroom: Newsroom, provider: SandboxServer) -> None:
    edition = newsroom.publish(readers=3)
    with a_call_held_by(provider, newsroom, "before_accept"):
        (attempt,) = newsroom.attempts(edition)
        assert attempt.messages == 3
        assert attempt.finished_at is None
        assert newsroom.batch(edition).state == Batch.State.SENDING
        counts = newsroom.counts(edition)
        assert (counts.waiting, counts.sent) == (3, 0)
        assert newsroom.sandbox.summary()["accepted"] == 0
    assert newsroom.attempts(edition)[0].result == Attempt.Result.ANSWERED


def test_deadline_includes_the_time_to_record_the_start(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_HTTP_DEADLINE_S = 0.5  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=1)
    claimed = claim(uuid.uuid4(), lease_s=30)
    assert claimed is not None

    def work() -> None:
        newsroom.dispatcher().send(claimed)
        connection.close()

    worker = threading.Thread(target=work)
    with transaction.atomic():
        Batch.objects.select_for_update().get()
        worker.start()
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        # The whole deadline passes while the worker waits to record the start.
        time.sleep(0.5)
    worker.join(timeout=30)

    (attempt,) = newsroom.attempts(edition)
    assert attempt.result == Attempt.Result.NOT_SENT
    assert newsroom.sandbox.summary()["accepted"] == 0


def test_no_transaction_is_open_during_a_call(newsroom: Newsroom, provider: SandboxServer) -> None:
    newsroom.publish(readers=3)

    with a_call_held_by(provider, newsroom, "after_accept"), connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*) FILTER (WHERE xact_start IS NOT NULL), count(*)
            FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND backend_type = 'client backend'
            """
        )
        in_transaction, others = cursor.fetchone()

    assert others >= 1
    assert in_transaction == 0


def test_a_worker_whose_lease_has_ended_starts_no_call(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    late = claim_next_batch()
    newsroom.let_time_pass(31)
    assert start(late, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5) == []
    assert newsroom.attempts(edition) == []


def test_worker_that_lost_its_claim_starts_no_call(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    lost = claim_next_batch()
    newsroom.let_time_pass(31)
    newsroom.recover_expired_leases()
    assert claim(uuid.uuid4(), lease_s=30) is not None
    assert start(lost, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5) == []


def test_start_waits_for_a_concurrent_pause(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    held = claim_next_batch()
    with transaction.atomic(), connection.cursor() as cursor:
        assert pause_automatically(cursor, edition.pk, None)
        worker = beside(lambda: start(held, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5))
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
    assert worker.result(PATIENCE_S) == []
    assert newsroom.attempts(edition) == []


def test_batch_without_waiting_copies_starts_no_call(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed = claim_next_batch()
    # An operator settles the copy with SQL.
    Delivery.objects.update(outcome="withdrawn")
    Batch.objects.update(waiting=0, withdrawn=1)
    assert start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5) == []
    assert newsroom.batch(edition).state == "done"


def test_started_call_extends_the_lease_past_its_deadline(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    claimed = claim_next_batch()
    started = start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=100, lease_s=30)
    assert started
    (attempt,) = newsroom.attempts(edition)
    lease_until = newsroom.batch(edition).lease_until
    assert lease_until is not None
    assert 129 <= (lease_until - attempt.started_at).total_seconds() <= 131
    assert (attempt.deadline_at - attempt.started_at).total_seconds() >= 99


def test_a_reader_unsubscribed_after_publishing_counts_as_withdrawn(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    claimed = (
        claim_next_batch()
    )  # The reader unsubscribes between the claim of their batch and its call.
    Subscriber.objects.filter(email="reader1@example.net").update(
        state=Subscriber.State.UNSUBSCRIBED, unsubscribed_at=edition.published_at
    )
    newsroom.dispatcher().send(claimed)
    assert newsroom.outcomes(edition) == ["sent", "withdrawn", "sent"]
    assert newsroom.counts(edition).withdrawn == 1
    (attempt,) = newsroom.attempts(edition)
    assert (attempt.messages, attempt.accepted) == (2, 2)
    assert newsroom.sandbox.summary()["accepted"] == 2
    assert newsroom.state(edition) == "succeeded"


def test_a_reader_suppressed_after_publishing_counts_as_suppressed(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    Suppression.objects.create(
        address_key="reader2@example.net",
        reason=Suppression.Reason.COMPLAINT,
        origin=Suppression.Origin.PROVIDER,
    )
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "sent", "suppressed"]
    assert newsroom.counts(edition).suppressed == 1
    assert newsroom.sandbox.summary()["accepted"] == 2


# A worker marks a copy as sent only after the call. If a copy has a mark without evidence, Homing
# looks it up before any resend.
@pytest.mark.parametrize("mark", [{"sent_at": Now()}, {"provider_message_id": "a-bare-id"}])
def test_mark_without_evidence_is_looked_up_first(
    newsroom: Newsroom, mark: dict[str, object]
) -> None:
    edition = newsroom.publish(readers=3)
    key = changed(newsroom.copies(edition)[0], **mark)
    newsroom.step()
    assert newsroom.outcomes(edition) == ["unknown", "sent", "sent"]
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["unknown", "sent", "sent"]
    assert newsroom.counts(edition).unknown == 1
    assert newsroom.sandbox.summary()["accepted"] == 2
    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.about) == ("marked_unsettled", key)


def test_id_without_time_is_never_resent_automatically(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    Delivery.objects.filter(issue=edition.issue_id).update(provider_message_id="0b8c6a1e")
    for _ in range(5):
        newsroom.deliver_all()
        newsroom.let_time_pass(900)
    assert newsroom.outcomes(edition) == ["unknown"]
    assert newsroom.state(edition) == "needs_attention"
    assert newsroom.sandbox.summary()["accepted"] == 0


def test_marked_copies_are_looked_up_one_by_one(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=10)
    newsroom.deliver_all()
    Delivery.objects.filter(issue=edition.issue_id).update(
        outcome="waiting", provider_message_id=None, evidence=None
    )
    Batch.objects.filter(edition=edition).update(state="ready", waiting=10, sent=0)
    # Every second search fails, so a look-up that needs several searches without an error would
    # never succeed.
    newsroom.sandbox.set_fault("search_503", every=2)

    for _ in range(6):
        newsroom.deliver_all()
        newsroom.let_time_pass(900)

    assert newsroom.outcomes(edition) == ["sent"] * 10
    assert newsroom.sandbox.summary()["accepted"] == 10


def test_a_recorded_acceptance_settles_a_copy_without_an_alarm(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    put_on_record(newsroom.copies(edition)[0], "came-late", Evidence.Source.REPLY)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert newsroom.copies(edition)[0].provider_message_id == "came-late"
    assert newsroom.sandbox.summary()["accepted"] == 1
    assert not Alarm.objects.exists()


def test_call_cannot_start_inside_another_transaction(newsroom: Newsroom) -> None:
    newsroom.publish(readers=1)
    claimed = claim_next_batch()
    # The call would start before the outer transaction commits or rolls back its record.
    with pytest.raises(RuntimeError, match="outermost"), transaction.atomic():
        start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5)


def test_transaction_of_the_queue_cannot_be_nested(newsroom: Newsroom) -> None:
    with (
        pytest.raises(RuntimeError, match="durable"),
        transaction.atomic(),
        short_transaction(),
    ):
        pass


def test_server_ends_an_idle_transaction(newsroom: Newsroom) -> None:
    with short_transaction() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("5s",)
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("0",)
