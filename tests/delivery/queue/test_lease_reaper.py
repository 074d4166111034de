"""Batches of crashed workers are recovered; copies that crash workers are parked."""

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now

from delivery.models import Alarm, Attempt, Batch, Delivery, Edition
from delivery.monitoring.database_fault import fault_of
from delivery.monitoring.worker_heartbeat import beat
from delivery.queue.batches.insert_and_split import split_off
from delivery.queue.claim_due_batch import claim, release
from delivery.queue.edition_control import cancel
from delivery.queue.lease_reaper import MAX_BATCHES, recover_dead_worker
from delivery.queue.settle_batch import settle_call
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.reports.queue_snapshot import read_snapshot
from delivery.reports.waiting_sentence import NOTHING_IS_STUCK, waiting_sentence
from delivery.rules.outcomes import Next, Settlement, Unknown
from delivery.rules.reason import Reason, ReasonCode
from subscribers.models import ReaderFieldDefinition
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import WORKER, asked, begun, claim_next_batch
from tests.publishing.second_connection import PATIENCE_S, beside


def test_batch_with_a_valid_lease_is_not_recovered(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    assert claim(uuid.uuid4(), lease_s=30)
    assert newsroom.recover_expired_leases() == 0


def test_a_batch_that_was_claimed_and_never_called_waits_again(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    assert claim(uuid.uuid4(), lease_s=30)
    newsroom.let_time_pass(31)
    assert newsroom.recover_expired_leases() == 1
    batch = newsroom.batch(edition)
    assert (batch.state, batch.crashes) == ("ready", 1)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_recovered_batch_of_a_paused_edition_is_paused(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    assert claim(uuid.uuid4(), lease_s=30)
    # Transactional mail is queued without the edition's lock, so a pause can miss a claimed batch.
    Edition.objects.update(control=Edition.Control.PAUSED)
    newsroom.let_time_pass(31)

    assert newsroom.recover_expired_leases() == 1

    assert newsroom.batch(edition).state == "paused"


def test_copy_that_crashes_workers_is_found_by_halving_and_parked(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=8)
    poison = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient")[5].recipient_id

    # A worker that claims a batch with this copy crashes before its call.
    for _ in range(40):
        claimed = claim(uuid.uuid4(), lease_s=30)
        if claimed is None:
            break
        rows = Delivery.objects.filter(batch=claimed.batch, outcome="waiting")
        if poison in set(rows.values_list("recipient", flat=True)):
            newsroom.let_time_pass(31)
            newsroom.recover_expired_leases()
        else:
            newsroom.dispatcher().send(claimed)

    outcomes = newsroom.outcomes(edition)
    assert outcomes == ["sent"] * 5 + ["failed"] + ["sent"] * 2
    parked = Delivery.objects.get(issue=edition.issue_id, recipient=poison)
    assert parked.reason == Reason.of(ReasonCode.PARKED, crashes=2)
    assert newsroom.counts(edition).missed == 1
    assert newsroom.state(edition) == "needs_attention"


def a_worker_crashes(newsroom: Newsroom) -> None:
    assert claim(uuid.uuid4(), lease_s=30)
    newsroom.let_time_pass(31)
    newsroom.recover_expired_leases()


def crashing_batches() -> int:
    with connection.cursor() as cursor:
        return read_snapshot(cursor).crashing


def test_a_crashing_batch_is_shown_from_its_first_crash(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4)
    beat(WORKER, host="a", pid=1)
    assert waiting_sentence(newsroom.counts(edition)) == str(NOTHING_IS_STUCK)

    a_worker_crashes(newsroom)
    assert waiting_sentence(newsroom.counts(edition)).startswith("1 batch crashed its worker.")
    assert crashing_batches() == 1
    # One crash causes no alarm, because the worker may simply have been killed.
    assert not Alarm.objects.exists()

    a_worker_crashes(newsroom)
    # Both halves of the batch are suspected of crashing workers, although their own counts start at
    # zero.
    assert [batch.crashes for batch in newsroom.batches(edition)] == [0, 0]
    assert waiting_sentence(newsroom.counts(edition)).startswith("2 batches crashed their workers.")
    assert crashing_batches() == 2
    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.edition_id) == ("batch_crashing", edition.pk)

    newsroom.deliver_all()
    assert (newsroom.counts(edition).crashing, crashing_batches()) == (0, 0)


def test_a_batch_that_raises_while_rendering_is_shown(newsroom: Newsroom) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    edition = newsroom.publish(readers=2, html="<p>{{ city }}</p>")
    # Store more values than the letter has fields, as a faulty program might.
    Delivery.objects.update(fields=["Kiel", "more"])
    for _ in range(2):
        with pytest.raises(ValueError, match="zip"):
            newsroom.step()
        newsroom.let_time_pass(31)
        newsroom.recover_expired_leases()
    assert newsroom.counts(edition).crashing == 2
    assert Alarm.objects.get().kind == Alarm.Kind.BATCH_CRASHING


def test_workers_that_crash_in_calls_raise_one_alarm(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    for crashes in range(1, 3):
        Batch.objects.update(state="ready", unknown=0, waiting=1, unknown_since=None, due_at=Now())
        Delivery.objects.update(outcome="waiting")
        begun()
        newsroom.let_time_pass(31)
        newsroom.recover_expired_leases()
        assert newsroom.counts(edition).crashing == crashes - 1
        assert Alarm.objects.count() == crashes - 1


def test_a_copy_that_kills_workers_mid_call_is_parked(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (1.0,)  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=1)

    for _ in range(2):
        begun()
        newsroom.let_time_pass(11)
        newsroom.recover_expired_leases()
        newsroom.let_time_pass(2)
        newsroom.step()

    assert newsroom.outcomes(edition) == ["failed"]
    assert newsroom.sandbox.summary()["accepted"] == 0
    assert newsroom.state(edition) == "needs_attention"


def test_batch_without_attempt_row_is_recovered(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    begun()
    Attempt.objects.all().delete()
    newsroom.let_time_pass(11)
    assert newsroom.recover_expired_leases() == 1
    assert newsroom.outcomes(edition) == ["unknown"]


def sweep_that_looks(newsroom: Newsroom) -> Future[int]:
    """Start a sweep that has found expired leases and waits for the edition's lock."""
    sweep = beside(newsroom.recover_expired_leases)
    newsroom.wait_for_a_backend_that_waits_for_a_lock()
    return sweep


def test_sweep_skips_a_batch_claimed_meanwhile(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    assert claim(uuid.uuid4(), lease_s=30)
    newsroom.let_time_pass(31)

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        sweep = sweep_that_looks(newsroom)
        # Meanwhile another sweep has recovered the batch, and a worker has claimed it.
        Batch.objects.update(state="ready", owner=None, lease_until=None)
        assert claim(uuid.uuid4(), lease_s=30)

    assert sweep.result(PATIENCE_S) == 0
    assert newsroom.batch(edition).state == "claimed"


def test_batch_released_during_a_sweep_counts_no_crash(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed = claim_next_batch()
    newsroom.let_time_pass(31)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        sweep = sweep_that_looks(newsroom)
        assert release(claimed)
    assert sweep.result(PATIENCE_S) == 0
    assert newsroom.batch(edition).crashes == 0


def test_call_settled_during_a_sweep_counts_no_crash(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed, attempt, (recipient,) = begun()
    unanswered = Settlement(
        outcomes={recipient: Unknown()}, next=Next.LOOK_UP, reason=because("No answer.")
    )
    newsroom.let_time_pass(11)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        sweep = sweep_that_looks(newsroom)
        assert beside(
            lambda: settle_call(claimed, attempt, unanswered, Attempt.Result.UNKNOWN)
        ).result(PATIENCE_S)
    assert sweep.result(PATIENCE_S) == 0
    # The crash is not counted twice, because two crashes would park the copy.
    assert newsroom.batch(edition).crashes == 0


def test_failing_recovery_does_not_block_others(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    first = claim_next_batch()
    assert claim(uuid.uuid4(), lease_s=31)
    newsroom.let_time_pass(32)
    # Set the column's maximum, so that the next crash would exceed it.
    Batch.objects.filter(pk=first.batch).update(crashes=32_767)
    assert newsroom.recover_expired_leases() == 1
    assert [batch.state for batch in newsroom.batches(edition)] == ["claimed", "ready"]


def test_a_fault_of_the_database_is_left_to_its_reporter(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    newsroom.publish(readers=3)
    assert claim(uuid.uuid4(), lease_s=30)
    newsroom.let_time_pass(31)
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        with pytest.raises(DatabaseError) as raised:
            newsroom.recover_expired_leases()
        cursor.execute("SET default_transaction_read_only = off")
    assert fault_of(raised.value) is ReasonCode.READ_ONLY
    assert "could not be recovered" not in caplog.text
    assert newsroom.recover_expired_leases() == 1


def test_sweep_waits_once_for_a_locked_edition(newsroom: Newsroom) -> None:
    locked = newsroom.publish(readers=MAX_BATCHES + 1, batch_size=1)
    other = newsroom.publish(readers=1, batch_size=100)
    while claim(uuid.uuid4(), lease_s=30):
        pass
    newsroom.let_time_pass(31)
    locked_by_sweep: list[object] = []

    def counted(execute: Callable[..., object], sql: str, *rest: Any) -> object:
        locked_by_sweep.extend(rest[0] if sql.startswith("SELECT control FROM edition") else [])
        return execute(sql, *rest)

    def sweep() -> int:
        with connection.execute_wrapper(counted):
            return newsroom.recover_expired_leases()

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, locked.pk)
        assert beside(sweep).result(PATIENCE_S) == 1

    assert locked_by_sweep == [locked.pk, other.pk]
    assert newsroom.batch(other).state == "ready"


def test_a_dead_workers_claim_is_released_at_once(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    assert claim(WORKER, lease_s=30)
    assert claim(uuid.uuid4(), lease_s=30)

    assert recover_dead_worker(WORKER, ())

    states = [(batch.state, batch.crashes) for batch in newsroom.batches(edition)]
    assert states == [("ready", 1), ("claimed", 0)]


def test_a_dead_workers_unsent_call_is_sent_at_once(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    _, unsent, _ = begun()

    assert recover_dead_worker(WORKER, {unsent})
    assert newsroom.batch(edition).crashes == 1
    newsroom.deliver_all()

    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert [one.result for one in newsroom.attempts(edition)] == ["not_sent", "answered"]


def test_a_dead_workers_other_calls_are_unknown(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    _, attempt, _ = begun()

    assert recover_dead_worker(WORKER, {uuid.uuid4()})
    newsroom.deliver_all()

    assert newsroom.outcomes(edition) == ["unknown"] * 3
    batch = newsroom.batch(edition)
    assert (batch.state, batch.attempt, batch.crashes) == ("unknown", attempt, 1)
    assert newsroom.sandbox.summary()["accepted"] == 0


def test_a_dead_workers_look_up_is_repeated(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    _, attempt, _ = begun()
    assert recover_dead_worker(WORKER, ())
    asked()

    # The list still contains the worker's own call, which was already looked up.
    assert recover_dead_worker(WORKER, {attempt})

    batch = newsroom.batch(edition)
    assert (batch.state, batch.attempt, batch.crashes) == ("unknown", attempt, 1)


def test_unsent_copies_of_a_cancelled_edition_are_withdrawn(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    _, unsent, _ = begun()
    cancel(edition.pk)

    assert recover_dead_worker(WORKER, {unsent})

    assert newsroom.outcomes(edition) == ["withdrawn"] * 2
    assert newsroom.state(edition) == "cancelled"


def test_a_dead_worker_is_kept_while_its_edition_is_locked(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    assert claim(WORKER, lease_s=30)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        assert not beside(lambda: recover_dead_worker(WORKER, ())).result(PATIENCE_S)
    assert recover_dead_worker(WORKER, ())
    assert newsroom.batch(edition).state == "ready"


def test_a_copy_that_kills_workers_before_its_call_is_parked(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    for _ in range(2):
        _, unsent, _ = begun()
        assert recover_dead_worker(WORKER, {unsent})
    assert newsroom.outcomes(edition) == ["failed"]


def test_only_waiting_copies_can_be_split_off(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    batch = newsroom.batch(edition)
    recipient = Delivery.objects.order_by("recipient")[0].recipient_id

    def split() -> None:
        with short_transaction() as cursor:
            lock_edition(cursor, edition.pk)
            split_off(cursor, batch.pk, edition.pk, [recipient, recipient + 1_000])

    with pytest.raises(AssertionError, match="1 of 2"):
        split()

    assert newsroom.batch(edition).size == 2
