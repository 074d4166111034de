"""Workers, answers and reapers that race for the same batch."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection

from delivery.models import Alarm, Attempt, Batch, Newsletter
from tests.faults.delivery_stack import Stage
from tests.faults.wait_until import PATIENCE_S, eventually, held

ROUNDS = 10
READERS = 5


def raced(race: Callable[[], object]) -> None:
    """Race in a thread, and close the thread's connection."""
    try:
        race()
    finally:
        connection.close()


def test_answer_two_reapers_and_two_lookups_race_for_one_batch(stage: Stage) -> None:
    stage.newsroom.confirm(READERS)
    won_by: Counter[str | None] = Counter()
    for _ in range(ROUNDS):
        edition = stage.newsroom.publish()
        stage.sandbox.set_fault("hold", moment="after_accept", calls=1)
        line = threading.Barrier(3)

        def answer(line: threading.Barrier = line) -> None:
            line.wait(PATIENCE_S)
            stage.sandbox.gate.release()

        def sweep_and_continue(line: threading.Barrier = line) -> None:
            connection.ensure_connection()
            line.wait(PATIENCE_S)
            stage.newsroom.recover_expired_leases()
            stage.newsroom.deliver_all()

        with ThreadPoolExecutor(4) as pool:
            caller = pool.submit(raced, stage.newsroom.step)
            held(stage.provider)
            # The lease of the call in flight has ended, and the look-up after a reaper is due.
            stage.newsroom.let_time_pass(1000)
            others = (answer, sweep_and_continue, sweep_and_continue)
            for racer in [caller, *(pool.submit(raced, each) for each in others)]:
                racer.result(PATIENCE_S)
        (attempt,) = stage.newsroom.attempts(edition)
        won_by[attempt.result] += 1
        stage.newsroom.let_time_pass(1000)
        stage.newsroom.recover_expired_leases()
        stage.newsroom.deliver_all()
        assert stage.newsroom.outcomes(edition) == ["sent"] * READERS
        assert stage.newsroom.counts(edition).sent == READERS

    copies = ROUNDS * READERS
    summary = stage.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (copies, copies)
    assert set(won_by) <= {Attempt.Result.ANSWERED, Attempt.Result.UNKNOWN}
    assert not Alarm.objects.exists()


def test_live_workers_with_reaped_batches_send_nothing_twice(stage: Stage) -> None:
    edition = stage.newsroom.publish(readers=200)
    leases = {"DELIVERY_LEASE_S": "0.5", "DELIVERY_HTTP_DEADLINE_S": "0.5"}
    stage.sandbox.set_fault("hold", moment="after_accept", calls=6)
    # Both workers have claimed a batch. They must insert the missing row of settings, and wait for
    # the locked table until a reaper has recovered a batch.
    Newsletter.objects.all().delete()
    with stage.hold("LOCK TABLE newsletter IN SHARE MODE"):
        both = [stage.worker("--until-empty", **leases) for _ in range(2)]
        eventually(lambda: Batch.objects.filter(crashes__gt=0).exists(), "a batch was reaped")

    # These calls last longer than their leases, so reapers recover their batches meanwhile.
    eventually(lambda: stage.sandbox.gate.held > 0, "calls are held")
    eventually(
        lambda: Attempt.objects.filter(result="unknown").count() > 2, "calls became unconfirmed"
    )
    stage.sandbox.gate.release()

    for worker in both:
        assert worker.end() == 0, worker.output
    stage.all_got_one(edition, 200)
