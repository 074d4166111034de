"""Workers that are told to stop: at any moment, in a storm, and while something hangs."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from delivery.models import Attempt, Batch, Worker
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.faults.own_server import OwnServer
from tests.faults.sigterm_storm import Storm
from tests.faults.stalling_line import StallingLine
from tests.faults.waiting_for import eventually
from tests.faults.watched_worker import WatchedWorker

Begin = Callable[..., WatchedWorker]
AllGotOne = Callable[[Any, int], None]
InACall = Callable[..., tuple[Any, WatchedWorker]]

SIGTERMS = int(os.environ.get("HOMING_SIGTERMS", "60"))
SEED = int(os.environ.get("HOMING_SIGTERMS_SEED", "1789"))
READERS = 200


def nothing_held() -> bool:
    """Whether no batch is under a lease or in doubt."""
    return not Batch.objects.exclude(state__in=["ready", "done"]).exists()


@pytest.mark.timeout(60 + SIGTERMS * 2)
def test_a_storm_of_signals_leaves_nothing_behind_and_costs_nobody_a_copy(
    newsroom: Newsroom,
    provider: SandboxServer,
    server: OwnServer,
    database: str,
    the_rest_goes_out: Callable[[], None],
) -> None:
    newsroom.confirm(READERS)
    provider.sandbox.latency_s = 0.03
    editions = [newsroom.publish()]

    def keep_loaded() -> None:
        accepted = provider.sandbox.outbox.counts()["accepted"]
        if accepted > READERS * len(editions) - READERS / 2:
            editions.append(newsroom.publish())

    storm = Storm(server.url(database), provider, seed=SEED)
    try:
        statuses = storm.blow(SIGTERMS, keep_loaded)
    finally:
        storm.end()

    assert statuses == [0] * SIGTERMS
    assert nothing_held()
    assert not Worker.objects.exists()
    the_rest_goes_out()
    for edition in editions:
        assert newsroom.books(edition).sent == READERS
    # It was a storm over work, not over workers that had nothing to do yet.
    assert Attempt.objects.values("worker").distinct().count() > SIGTERMS / 5
    copies = READERS * len(editions)
    summary = provider.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (copies, copies)


@pytest.mark.parametrize("database_is_away", [False, True], ids=["there", "away"])
def test_an_idle_worker_ends_with_0(
    newsroom: Newsroom, server: OwnServer, workers: Begin, database_is_away: bool
) -> None:
    worker = workers()
    eventually(lambda: Worker.objects.exists(), "it arrived")

    if database_is_away:
        with server.away("immediate"):
            worker.wait_for("the database is away")
            assert worker.stop() == 0, worker.said
    else:
        assert worker.stop() == 0, worker.said
        assert not Worker.objects.exists()


def test_ctrl_c_lets_the_call_in_the_air_finish(
    provider: SandboxServer, in_a_call: InACall, all_got_one: AllGotOne
) -> None:
    edition, worker = in_a_call(readers=5)

    worker.signal(signal.SIGINT)
    provider.sandbox.gate.release()

    assert worker.end() == 0, worker.said
    all_got_one(edition, 5)
    assert "nothing is left half-way" in worker.said
    assert "Traceback" not in worker.said


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)],
    ids=["SIGTERM and SIGINT", "SIGINT and SIGTERM"],
)
def test_a_second_signal_of_either_kind_ends_it_at_once(
    newsroom: Newsroom,
    provider: SandboxServer,
    in_a_call: InACall,
    the_rest_goes_out: Callable[[], None],
    all_got_one: AllGotOne,
    signals: tuple[signal.Signals, signal.Signals],
) -> None:
    edition, worker = in_a_call(readers=5)

    for each in signals:
        worker.signal(each)

    # Both waited at the same time, and which of them is taken first is the system's choice.
    assert worker.end() in {128 + each for each in signals}
    provider.sandbox.gate.release("close")
    newsroom.let_time_pass(100)
    the_rest_goes_out()
    all_got_one(edition, 5)


def test_a_worker_whose_look_up_hangs_ends_with_0_when_its_time_is_over(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Begin,
    line: StallingLine,
    the_rest_goes_out: Callable[[], None],
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=5)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    line.stall_at(b"/messages/outbound")
    worker = workers(POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()

    assert worker.stop() == 0, worker.said

    assert Batch.objects.get().state == "unknown"
    the_rest_goes_out()
    all_got_one(edition, 5)


def test_a_worker_that_asks_for_the_streams_setting_ends_with_0(
    newsroom: Newsroom, workers: Begin, line: StallingLine
) -> None:
    line.stall_at(b"/message-streams/")
    worker = workers(POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()

    assert worker.stop() == 0, worker.said


def test_a_signal_during_the_start_leaves_nothing_behind(
    newsroom: Newsroom,
    workers: Begin,
    the_rest_goes_out: Callable[[], None],
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=5)
    dice = random.Random(SEED)
    for _ in range(4):
        worker = workers()
        # The pace of the starts: from before Python itself is up to well after the first claim.
        worker.ends_within(dice.uniform(0, 1))
        code = worker.stop()
        # Before it waits for signals it holds nothing, and ends as any program does.
        assert code == 0 or (code == -signal.SIGTERM and "is running" not in worker.said)
        assert nothing_held()
        connection.close()

    assert not Worker.objects.exists()
    the_rest_goes_out()
    all_got_one(edition, 5)
