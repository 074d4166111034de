"""One pace for all workers, however many threads and processes, and whoever of them freezes."""

from __future__ import annotations

import signal
import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import Error, connection, transaction
from django.db.models import F

from delivery.models import Pace
from delivery.queue.claim import claim
from delivery.queue.pace import have_a_row, slow_down, take_turn, use_turn
from delivery.queue.short_transaction import short_transaction
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.delivery.worker_process import WorkerProcess

THREADS = 12


def how_many_of_a_crowd_claim(rate_per_s: float | None) -> int:
    """So many threads ask at the same moment."""
    barrier = threading.Barrier(THREADS, timeout=30)
    claimed: list[int] = []

    def a_worker() -> None:
        connection.ensure_connection()
        barrier.wait()
        found = claim(uuid.uuid4(), lease_s=300, rate_per_s=rate_per_s)
        if found:
            claimed.append(found.batch)
        connection.close()

    threads = [threading.Thread(target=a_worker) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(claimed) == len(set(claimed))
    return len(claimed)


@pytest.mark.parametrize("ceiling", [None, 20.0], ids=["no ceiling", "ceiling"])
def test_of_a_crowd_that_was_slowed_down_one_claims_in_each_turn(
    newsroom: Newsroom, provider: SandboxServer, settings: object, ceiling: float | None
) -> None:
    settings.DELIVERY_BATCH_SIZE = 500  # type: ignore[attr-defined]
    settings.DELIVERY_RATE_PER_S = ceiling  # type: ignore[attr-defined]
    newsroom.publish(readers=5_000)
    provider.sandbox.set_fault("refuse_429", calls=1, retry_after=30)
    assert newsroom.step()

    assert how_many_of_a_crowd_claim(ceiling) == 0
    # The slowing lies in the future, so that nothing grows while the turns are counted.
    Pace.objects.update(slowed_to_per_s=10, slowed_at=datetime(2100, 1, 1, tzinfo=UTC))
    newsroom.let_time_pass(31)
    assert how_many_of_a_crowd_claim(ceiling) == 1
    newsroom.let_time_pass(50)
    assert how_many_of_a_crowd_claim(ceiling) == 1


def test_refusals_that_are_written_down_at_the_same_moment_halve_it_once(
    newsroom: Newsroom, provider: SandboxServer, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=2)
    newsroom.deliver_all()
    have_a_row()
    one, other = newsroom.attempts(edition)
    halved: list[bool] = []

    def the_other() -> None:
        halved.append(slow_down(other.pk, ceiling_per_s=1_000.0))
        connection.close()

    with transaction.atomic(), connection.cursor() as cursor:
        # Both have started when the row is locked, and each waits for it.
        cursor.execute("SELECT 1 FROM pace FOR UPDATE")
        threads = [threading.Thread(target=the_other) for _ in range(2)]
        for thread in threads:
            thread.start()
        newsroom.wait_for_a_backend_that_waits_for_a_lock(sessions=2)
    for thread in threads:
        thread.join(timeout=60)

    assert sorted(halved) == [False, True]
    assert not slow_down(one.pk, ceiling_per_s=1_000.0)
    assert Pace.objects.get().slowed_to_per_s == 500


# --- Processes ------------------------------------------------------------------------------------


def test_two_processes_share_one_ceiling(
    newsroom: Newsroom, provider: SandboxServer, database_url: str, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 10  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=200)
    workers = [
        WorkerProcess(database_url, provider.url, DELIVERY_RATE_PER_S="0.01") for _ in range(2)
    ]
    try:
        for worker in workers:
            worker.wait_for_line("is running")
        for turn in range(1, 5):
            assert provider.sandbox.gate.wait_until(
                lambda turn=turn: provider.sandbox.summary()["accepted"] >= 10 * turn, 60
            )
            # Ten copies at 0.01 a second take 1,000 seconds: a second worker of its own mind would
            # not wait for them. The next turn comes now.
            if turn < 4:
                Pace.objects.update(next_claim_at=F("next_claim_at") - timedelta(seconds=1_001))
        for worker in workers:
            worker.signal(signal.SIGTERM)
        assert [worker.end() for worker in workers] == [0, 0]
    finally:
        for worker in workers:
            if worker.is_running():
                worker.kill()

    assert len(newsroom.attempts(edition)) == 4
    assert newsroom.books(edition).sent == 40


def test_two_processes_that_are_told_to_slow_down_serve_everybody_once(
    newsroom: Newsroom, provider: SandboxServer, database_url: str, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 5  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=60)
    provider.sandbox.set_fault("refuse_429", calls=3)

    workers = [
        WorkerProcess(database_url, provider.url, "--until-empty", DELIVERY_RETRY_BASE_S="0.1")
        for _ in range(2)
    ]
    try:
        for worker in workers:
            assert worker.end() == 0, worker.errors
    finally:
        for worker in workers:
            if worker.is_running():
                worker.kill()

    results = [attempt.result for attempt in newsroom.attempts(edition)]
    assert (results.count("refused"), results.count("answered")) == (3, 12)
    assert newsroom.books(edition).sent == 60
    assert provider.sandbox.summary()["deliveries_with_more_than_one_copy"] == 0


# --- Whoever freezes ------------------------------------------------------------------------------


def test_a_turn_that_another_is_taking_is_not_waited_for(newsroom: Newsroom) -> None:
    newsroom.publish(readers=1)
    claimed: list[object] = []

    def another_worker() -> None:
        claimed.append(claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0))
        connection.close()

    have_a_row()
    with short_transaction() as cursor:
        assert take_turn(cursor, ceiling_per_s=1_000.0) is not None
        thread = threading.Thread(target=another_worker)
        thread.start()
        # The turn is held until the other has its answer: were it waited for, this would not end.
        thread.join(timeout=30)
        assert claimed == [None]

    assert claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0) is not None


def test_a_worker_that_freezes_in_its_turn_loses_it_to_the_others(newsroom: Newsroom) -> None:
    newsroom.publish(readers=1)
    is_frozen, wakes_up = threading.Event(), threading.Event()
    ends: list[Exception] = []

    def frozen_worker() -> None:
        have_a_row()
        try:
            with short_transaction() as cursor:
                turn = take_turn(cursor, ceiling_per_s=1_000.0)
                assert turn is not None
                is_frozen.set()
                wakes_up.wait(60)
                use_turn(cursor, turn, 1_000_000)
        except Error as error:
            ends.append(error)
        connection.close()

    thread = threading.Thread(target=frozen_worker)
    thread.start()
    assert is_frozen.wait(30)
    # This waits for the row; it ends because the server has ended the silent session.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pace FOR UPDATE")
    assert claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0) is not None

    wakes_up.set()
    thread.join(timeout=60)
    assert len(ends) == 1
    assert "idle-in-transaction" in str(ends[0])
