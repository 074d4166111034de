"""What a lost worker held comes back by its lease; what ends workers is found and parked."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import OperationalError, connection, transaction

from delivery.models import Attempt, Batch, Delivery, Edition
from delivery.queue.claim import claim, claim_look_up, release
from delivery.queue.settle import settle_call
from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition, split_off
from delivery.queue.start import start
from delivery.settlement import Next, Sent, Settlement
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom


def test_a_lease_that_still_runs_is_left_alone(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    assert claim(uuid.uuid4(), lease_s=30)

    assert newsroom.sweep() == 0


def test_a_batch_that_was_claimed_and_never_called_waits_again(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    assert claim(uuid.uuid4(), lease_s=30)
    newsroom.let_time_pass(31)

    assert newsroom.sweep() == 1

    batch = newsroom.batch(edition)
    assert (batch.state, batch.crashes) == ("ready", 1)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_lost_batch_of_a_paused_edition_comes_back_paused(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    assert claim(uuid.uuid4(), lease_s=30)
    # Mail on request is queued without the edition's lock, so a pause can miss a claimed batch.
    Edition.objects.update(control=Edition.Control.PAUSED)
    newsroom.let_time_pass(31)

    assert newsroom.sweep() == 1

    assert newsroom.batch(edition).state == "paused"


def test_a_worker_that_settles_just_before_the_sweep_wins(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    newsroom.let_time_pass(1000)

    assert newsroom.sweep() == 0
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_a_look_up_that_was_cut_off_is_done_again(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.deliver_all()
    newsroom.let_time_pass(61)
    assert claim_look_up(uuid.uuid4(), lease_s=5) is not None
    newsroom.let_time_pass(6)

    assert newsroom.sweep() == 1
    newsroom.deliver_all()

    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert provider.sandbox.summary()["accepted"] == 3


def test_a_poisonous_delivery_is_found_by_halving_and_parked_alone(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=8)
    poison = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient")[5].recipient_id

    # Whoever claims a batch with the poison in it is lost before its call.
    for _ in range(40):
        claimed = claim(uuid.uuid4(), lease_s=30)
        if claimed is None:
            break
        rows = Delivery.objects.filter(batch=claimed.batch, outcome="waiting")
        if poison in set(rows.values_list("recipient", flat=True)):
            newsroom.let_time_pass(31)
            newsroom.sweep()
        else:
            newsroom.dispatcher().deliver(claimed)

    outcomes = newsroom.outcomes(edition)
    assert outcomes == ["sent"] * 5 + ["failed"] + ["sent"] * 2
    parked = Delivery.objects.get(issue=edition.issue_id, recipient=poison)
    assert parked.reason
    assert "Parked" in parked.reason
    assert newsroom.books(edition).missed == 1
    assert newsroom.state(edition) == "needs_attention"


def test_halves_start_without_the_crashes_of_the_whole(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4)

    for _ in range(2):
        assert claim(uuid.uuid4(), lease_s=30)
        newsroom.let_time_pass(31)
        newsroom.sweep()

    assert [(batch.size, batch.crashes) for batch in newsroom.batches(edition)] == [(2, 0), (2, 0)]


def test_a_delivery_that_ends_workers_during_its_call_is_parked_too(
    newsroom: Newsroom, provider: SandboxServer, settings: object
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (1.0,)  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=1)

    for _ in range(2):
        claimed = claim(uuid.uuid4(), lease_s=30)
        assert claimed is not None
        start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5)
        newsroom.let_time_pass(11)
        newsroom.sweep()
        newsroom.let_time_pass(2)
        newsroom.step()

    assert newsroom.outcomes(edition) == ["failed"]
    assert provider.sandbox.summary()["accepted"] == 0
    assert newsroom.state(edition) == "needs_attention"


def test_a_batch_whose_attempt_is_not_on_record_any_more_comes_back_all_the_same(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=1)
    claimed = claim(uuid.uuid4(), lease_s=30)
    assert claimed is not None
    start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5)
    Attempt.objects.all().delete()
    newsroom.let_time_pass(11)

    assert newsroom.sweep() == 1

    assert newsroom.outcomes(edition) == ["unknown"]


def test_a_cut_connection_is_no_crash_of_the_batch(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=1)
    worker = newsroom.dispatcher()
    for _ in range(3):
        claimed = claim(uuid.uuid4(), lease_s=30)
        assert claimed is not None
        cut_the_connection()
        with pytest.raises(OperationalError):
            worker.deliver(claimed)

    assert newsroom.batch(edition).crashes == 0
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"]


def cut_the_connection() -> None:
    """As a restarted server or a broken line would: from the other side."""
    other = connection.copy()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    other.close()


# --- What happens while the sweep looks -----------------------------------------------------------


class SweepThatLooks:
    """A sweep that has seen what is lost, and waits for the edition that is locked meanwhile."""

    def __init__(self, newsroom: Newsroom) -> None:
        self._newsroom = newsroom
        self.brought_back: list[int] = []
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.brought_back.append(self._newsroom.sweep())
        connection.close()

    def begins(self) -> None:
        self._thread.start()
        self._newsroom.wait_for_a_backend_that_waits_for_a_lock()

    def ends(self) -> None:
        self._thread.join(timeout=60)


def test_a_worker_that_settles_while_the_sweep_looks_wins(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed, attempt = claim(uuid.uuid4(), lease_s=30), uuid.uuid4()
    assert claimed is not None
    start(claimed, attempt, uuid.uuid4(), deadline_s=5, lease_s=5)
    recipient = Delivery.objects.get().recipient_id
    accepted = Settlement(fates={recipient: Sent("m-1", None)}, next=Next.DONE)
    newsroom.let_time_pass(11)
    sweep = SweepThatLooks(newsroom)

    def settles() -> None:
        assert settle_call(claimed, attempt, accepted, Attempt.Result.ANSWERED)
        connection.close()

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        sweep.begins()
        worker = threading.Thread(target=settles)
        worker.start()
        worker.join(timeout=60)
    sweep.ends()

    assert sweep.brought_back == [0]
    assert newsroom.batch(edition).state == "done"
    assert newsroom.outcomes(edition) == ["sent"]


def test_what_was_claimed_anew_while_the_sweep_looks_is_left_alone(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    assert claim(uuid.uuid4(), lease_s=30)
    newsroom.let_time_pass(31)
    sweep = SweepThatLooks(newsroom)

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        sweep.begins()
        # Another sweep brought it back, and a worker claimed it.
        Batch.objects.update(state="ready", owner=None, lease_until=None)
        assert claim(uuid.uuid4(), lease_s=30)
    sweep.ends()

    assert sweep.brought_back == [0]
    assert newsroom.batch(edition).state == "claimed"


def test_what_was_given_back_while_the_sweep_looks_is_no_crash(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed = claim(uuid.uuid4(), lease_s=30)
    assert claimed is not None
    newsroom.let_time_pass(31)
    sweep = SweepThatLooks(newsroom)

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        sweep.begins()
        assert release(claimed)
    sweep.ends()

    assert sweep.brought_back == [0]
    assert newsroom.batch(edition).crashes == 0


def test_one_that_cannot_be_brought_back_keeps_no_other_from_coming_back(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=2)
    first = claim(uuid.uuid4(), lease_s=30)
    assert first is not None
    assert claim(uuid.uuid4(), lease_s=31)
    newsroom.let_time_pass(32)
    # One more than its column can count.
    Batch.objects.filter(pk=first.batch).update(crashes=32_767)

    assert newsroom.sweep() == 1

    assert [batch.state for batch in newsroom.batches(edition)] == ["claimed", "ready"]


def test_what_does_not_wait_in_a_batch_cannot_be_split_off(newsroom: Newsroom) -> None:
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
