"""A `deliver` of two processes: killed in part or whole, stopped, restarted."""

import os
import signal
import time
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


def in_two_calls(stage: Stage, *options: str, **settings: str) -> WatchedWorker:
    """Publish to 60 readers; hold one accepted call of 20 copies in each process."""
    stage.newsroom.publish(60)
    stage.sandbox.set_fault("hold", moment="after_accept", calls=2)
    options = (*TWO, "--concurrency", "1", *options)
    worker = stage.worker(*options, **{"DELIVERY_HTTP_DEADLINE_S": "60"} | settings)
    held(stage.provider, 2)
    return worker


def the_rest_goes_out_once(stage: Stage) -> None:
    """Let another worker send what is left; check that all 60 readers got one copy."""
    stage.newsroom.let_time_pass(100)
    stage.the_rest_goes_out()
    summary = stage.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (60, 60)


def test_killed_children_are_replaced_and_every_reader_gets_one_copy(stage: Stage) -> None:
    worker = in_two_calls(stage, "--until-empty", DELIVERY_HTTP_DEADLINE_S="3")
    killed = children(worker)

    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    stage.sandbox.gate.release("close")
    worker.wait_for("ended unexpectedly (signal 9); another starts in 0.5 s", times=2)

    assert worker.end() == 0, worker.output
    assert worker.totals()["sent"] == 60
    assert len(killed) == 2
    the_rest_goes_out_once(stage)


def test_children_of_a_killed_parent_finish_their_calls(stage: Stage) -> None:
    worker = in_two_calls(stage)

    worker.signal(signal.SIGKILL)
    worker.wait_for("The worker stops")
    stage.sandbox.gate.release()
    # The output ends when the last process has ended.
    worker.end()

    assert "Traceback" not in worker.output
    assert sorted(Batch.objects.values_list("state", flat=True)) == ["done", "done", "ready"]
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

    # A terminal sends SIGINT to every process.
    for pid in children(worker) if in_terminal else ():
        os.kill(pid, signal.SIGINT)
    worker.signal(signal.SIGINT if in_terminal else signal.SIGTERM)
    worker.wait_for("The worker stops")
    stage.sandbox.gate.release()

    assert worker.end() == 0, worker.output
    assert "All its calls are finished" in worker.output
    assert sorted(Batch.objects.values_list("state", flat=True)) == ["done", "done", "ready"]
    assert not WorkerHeartbeat.objects.exists()
    the_rest_goes_out_once(stage)


def test_second_signal_ends_all_processes_at_once(stage: Stage) -> None:
    worker = in_two_calls(stage)

    worker.signal(signal.SIGTERM)
    worker.wait_for("The worker stops")
    worker.signal(signal.SIGTERM)

    assert worker.end() == 128 + signal.SIGTERM
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
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE database_identity RENAME TO missing")
        worker = stage.worker(*TWO)
        worker.wait_for("ended unexpectedly (exit code 1); another starts in 2.0 s", times=2)
        cursor.execute("ALTER TABLE missing RENAME TO database_identity")

    assert time.monotonic() - began >= 0.5 + 1.0
    eventually(lambda: WorkerHeartbeat.objects.exists(), "it started")
    assert worker.stop() == 0, worker.output
