"""A `deliver` of two processes is killed (in part or whole), stopped, restarted."""

import json
import os
import signal
from datetime import datetime
from pathlib import Path

import pytest
from django.db import connection

from delivery.models import Batch, WorkerHeartbeat
from tests.faults.delivery_stack import Stage
from tests.faults.processes.watched_worker import WatchedWorker
from tests.faults.wait_until import eventually, held

TWO = ("--processes", "2")


def children(worker: WatchedWorker) -> list[int]:
    """Return the process ids of the children."""
    found = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text()
    return [int(pid) for pid in found.split()]


def states() -> list[str]:
    """Return the states of all batches, in alphabetical order."""
    return sorted(Batch.objects.values_list("state", flat=True))


def in_two_calls(stage: Stage, *options: str, **settings: str) -> WatchedWorker:
    """Publish to 60 readers; hold one accepted call of 20 copies in each process."""
    stage.newsroom.publish(60)
    stage.sandbox.set_fault("hold", moment="after_accept", calls=2)
    options = (*TWO, "--concurrency", "1", *options)
    worker = stage.worker(*options, **{"DELIVERY_HTTP_DEADLINE_S": "60"} | settings)
    held(stage.provider, 2)
    return worker


def the_rest_goes_out_once(stage: Stage) -> None:
    """Let another worker send the rest; check that all 60 readers got one copy."""
    stage.newsroom.let_time_pass(100)
    stage.the_rest_goes_out()
    summary = stage.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (60, 60)


@pytest.mark.parametrize(
    ("number", "ended", "answer"),
    [(signal.SIGKILL, "signal 9", "close"), (signal.SIGTERM, "exit code 0", "answer")],
    ids=["SIGKILL", "SIGTERM"],
)
def test_children_that_end_are_replaced_and_nobody_gets_two(
    stage: Stage, number: signal.Signals, ended: str, answer: str
) -> None:
    worker = in_two_calls(stage, "--until-empty", DELIVERY_HTTP_DEADLINE_S="3")

    for pid in children(worker):
        os.kill(pid, number)
    stage.sandbox.gate.release(answer)
    worker.wait_for(f"ended unexpectedly ({ended}); another starts in 0.5 s", times=2)

    assert worker.ends_within(60), worker.output
    assert worker.end() == 0, worker.output
    assert worker.totals()["sent"] == 60
    the_rest_goes_out_once(stage)


def test_children_of_a_killed_parent_finish_their_calls(stage: Stage) -> None:
    worker = in_two_calls(stage)

    worker.signal(signal.SIGKILL)
    worker.wait_for("The worker stops")
    stage.sandbox.gate.release()
    # The output ends when the last process has ended.
    worker.end()

    assert "Traceback" not in worker.output
    assert states() == ["done", "done", "ready"]
    the_rest_goes_out_once(stage)


def test_all_processes_are_killed(stage: Stage) -> None:
    worker = in_two_calls(stage)

    for pid in (worker.pid, *children(worker)):
        os.kill(pid, signal.SIGKILL)
    worker.end()
    stage.sandbox.gate.release("close")

    the_rest_goes_out_once(stage)


@pytest.mark.parametrize("in_terminal", [False, True], ids=["SIGTERM", "Ctrl-C in a terminal"])
def test_first_signal_lets_all_calls_finish(stage: Stage, in_terminal: bool) -> None:
    worker = in_two_calls(stage)
    assert WorkerHeartbeat.objects.get().pid == worker.pid
    # The parent has no connection to the database, because it forks.
    open_files = [each.readlink() for each in Path(f"/proc/{worker.pid}/fd").iterdir()]
    assert not [each for each in open_files if each.name.startswith("socket:")]

    # A terminal sends SIGINT to every process.
    for pid in children(worker) if in_terminal else ():
        os.kill(pid, signal.SIGINT)
    worker.signal(signal.SIGINT if in_terminal else signal.SIGTERM)
    worker.wait_for("The worker stops")
    stage.sandbox.gate.release()

    assert worker.end() == 0, worker.output
    assert "All its calls are finished" in worker.output
    assert states() == ["done", "done", "ready"]
    assert not WorkerHeartbeat.objects.exists()
    the_rest_goes_out_once(stage)


def test_second_signal_ends_all_processes_at_once(stage: Stage) -> None:
    worker = in_two_calls(stage)

    worker.signal(signal.SIGTERM)
    worker.wait_for("The worker stops")
    worker.signal(signal.SIGTERM)

    assert worker.end() == 128 + signal.SIGTERM
    assert states() == ["ready", "sending", "sending"]
    stage.sandbox.gate.release("close")
    the_rest_goes_out_once(stage)


def test_child_killed_while_stopping_makes_the_exit_code_1(stage: Stage) -> None:
    worker = in_two_calls(stage)

    worker.signal(signal.SIGTERM)
    worker.wait_for("The worker stops")
    for pid in children(worker):
        os.kill(pid, signal.SIGKILL)

    assert worker.end() == 1
    assert "did not end gracefully (signal 9)" in worker.output
    stage.sandbox.gate.release("close")
    the_rest_goes_out_once(stage)


def test_children_that_fail_at_their_start_begin_ever_later(stage: Stage) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE database_identity RENAME TO missing")
        worker = stage.worker(*TWO)
        worker.wait_for("ended unexpectedly (exit code 1); another starts in 2.0 s", times=2)
        cursor.execute("ALTER TABLE missing RENAME TO database_identity")

    failed_at = {
        pause_s: datetime.fromisoformat(line["at"]).timestamp()
        for line in map(json.loads, worker.output.splitlines())
        if (pause_s := line["event"].removesuffix(" s").rpartition(" in ")[2]) in ("0.5", "2.0")
    }
    assert failed_at["2.0"] - failed_at["0.5"] >= 0.5 + 1.0
    eventually(lambda: WorkerHeartbeat.objects.exists(), "it started")
    assert worker.stop() == 0, worker.output
