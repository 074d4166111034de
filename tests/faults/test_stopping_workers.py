"""Workers stop cleanly at any moment, after repeated signals, and in hung calls."""

import os
import signal
import socket

import pytest

from delivery.models import Attempt, Batch, WorkerHeartbeat
from delivery.worker.worker_process import STOPPING_SIGNALS
from tests.faults.delivery_stack import Stage
from tests.faults.processes.random_sigterms import stop_at_random, workers_to_stop
from tests.faults.servers.stalling_proxy import StallingLine
from tests.faults.wait_until import eventually

SIGTERMS = int(os.environ.get("HOMING_SIGTERMS", "60"))
SEED = int(os.environ.get("HOMING_SIGTERMS_SEED", "1789"))
READERS = 200


def nothing_held() -> bool:
    """Return whether no batch has a lease or is unconfirmed."""
    return not Batch.objects.exclude(state__in=["ready", "done"]).exists()


@pytest.mark.timeout(60 + SIGTERMS * 2)
def test_many_random_signals_leave_nothing_behind_and_lose_no_copy(stage: Stage) -> None:
    stage.newsroom.confirm(READERS)
    stage.sandbox.latency_s = 0.03
    editions = [stage.newsroom.publish()]

    def keep_loaded() -> None:
        accepted = stage.sandbox.outbox.counts()["accepted"]
        if accepted > READERS * len(editions) - READERS / 2:
            editions.append(stage.newsroom.publish())

    with workers_to_stop(stage.url, stage.provider) as crew:
        statuses = stop_at_random(crew, stage.provider, SIGTERMS, keep_loaded, seed=SEED)

    assert statuses == [0] * SIGTERMS
    assert nothing_held()
    assert not WorkerHeartbeat.objects.exists()
    stage.the_rest_goes_out()
    for edition in editions:
        assert stage.newsroom.counts(edition).sent == READERS
    # Enough different workers made calls, so the signals hit workers that were sending.
    assert Attempt.objects.values("worker").distinct().count() > SIGTERMS / 5
    copies = READERS * len(editions)
    summary = stage.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (copies, copies)


@pytest.mark.parametrize("database_is_away", [False, True], ids=["there", "away"])
def test_idle_worker_ends_with_0(stage: Stage, database_is_away: bool) -> None:
    worker = stage.worker()
    eventually(lambda: WorkerHeartbeat.objects.exists(), "it arrived")

    if database_is_away:
        with stage.server.away("immediate"):
            worker.wait_for("the database cannot be reached")
            assert worker.stop() == 0, worker.output
    else:
        assert worker.stop() == 0, worker.output
        assert not WorkerHeartbeat.objects.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_signal_lets_the_call_finish_and_starts_no_other(
    stage: Stage, number: signal.Signals
) -> None:
    edition, worker = stage.in_a_call("--concurrency", "1", readers=60)

    worker.signal(number)
    worker.wait_for("The worker stops")
    stage.sandbox.gate.release()

    assert worker.end() == 0, worker.output
    assert stage.newsroom.outcomes(edition).count("sent") == 20
    assert len(stage.newsroom.attempts(edition)) == 1
    assert nothing_held()
    assert not WorkerHeartbeat.objects.exists()
    assert "All its calls are finished" in worker.output
    assert "Traceback" not in worker.output


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)],
    ids=["SIGTERM and SIGINT", "SIGINT and SIGTERM"],
)
def test_second_signal_of_either_kind_ends_it_at_once(
    stage: Stage, signals: tuple[signal.Signals, signal.Signals]
) -> None:
    edition, worker = stage.in_a_call(readers=5)

    for each in signals:
        worker.signal(each)

    # Both signals are pending at once, and the system chooses which one it delivers first.
    assert worker.end() in {128 + each for each in signals}
    stage.sandbox.gate.release("close")
    stage.newsroom.let_time_pass(100)
    stage.the_rest_goes_out()
    stage.all_got_one(edition, 5)


def test_worker_whose_lookup_hangs_ends_with_0(stage: Stage, line: StallingLine) -> None:
    edition = stage.newsroom.publish(readers=5)
    stage.sandbox.set_fault("accept_then_close", calls=1)
    line.stall_at(b"/messages/outbound")
    worker = stage.worker(POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()

    assert worker.stop() == 0, worker.output

    assert Batch.objects.get().state == "unknown"
    stage.the_rest_goes_out()
    stage.all_got_one(edition, 5)


def test_worker_that_checks_its_stream_ends_with_0(stage: Stage, line: StallingLine) -> None:
    line.stall_at(b"/message-streams/")
    worker = stage.worker(POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()

    assert worker.stop() == 0, worker.output


WAYS_TO_START = [(), ("--until-empty",), ("--processes", "2")]


@pytest.mark.parametrize("options", WAYS_TO_START, ids=" ".join)
@pytest.mark.parametrize("number", STOPPING_SIGNALS, ids=lambda number: number.name)
def test_signal_while_django_loads_ends_with_0(
    stage: Stage, number: signal.Signals, options: tuple[str, ...]
) -> None:
    waiting = "tests.faults.processes.settings_that_wait"
    worker = stage.worker(*options, DJANGO_SETTINGS_MODULE=waiting)
    worker.wait_for("Django loads the settings")

    worker.signal(number)

    assert worker.end() == 0, worker.output


@pytest.mark.parametrize("options", WAYS_TO_START, ids=" ".join)
def test_signal_while_the_database_does_not_answer_ends_with_0(
    stage: Stage, options: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgres://homing@127.0.0.1:{silent.getsockname()[1]}/homing"
        worker = stage.worker(*options, url=address)
        connection_of_worker, _ = silent.accept()
        with connection_of_worker:
            assert worker.stop() == 0, worker.output
