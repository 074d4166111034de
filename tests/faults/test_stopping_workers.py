"""Workers that are told to stop: at any moment, in a storm, and while something hangs."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import connection

from delivery.models import Attempt, Batch, Worker
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.faults.own_server import OwnServer
from tests.faults.sigterm_storm import blow, workers_to_stop
from tests.faults.stalling_line import StallingLine
from tests.faults.waiting_for import eventually, held
from tests.faults.watched_worker import WatchedWorker

Begin = Callable[..., WatchedWorker]
AllGotOne = Callable[[Any, int], None]

SIGTERMS = int(os.environ.get("HOMING_SIGTERMS", "100"))
SEED = int(os.environ.get("HOMING_SIGTERMS_SEED", "1789"))
READERS = 400


def nothing_held() -> bool:
    """Whether no batch is under a lease or in doubt."""
    return not Batch.objects.exclude(state__in=["ready", "done"]).exists()


@pytest.mark.timeout(60 + SIGTERMS * 2)
def test_a_storm_of_signals_leaves_nothing_behind_and_costs_nobody_a_copy(
    newsroom: Newsroom,
    provider: SandboxServer,
    server: OwnServer,
    database: str,
    workers: Begin,
) -> None:
    newsroom.confirm(READERS)
    provider.sandbox.latency_s = 0.03
    editions = [newsroom.publish()]

    def keep_loaded() -> None:
        accepted = provider.sandbox.outbox.counts()["accepted"]
        if accepted > READERS * len(editions) - READERS / 2:
            editions.append(newsroom.publish())

    with workers_to_stop(server.url(database), provider) as crew:
        statuses = blow(crew, provider, SIGTERMS, keep_loaded, seed=SEED)

    assert statuses == [0] * SIGTERMS
    assert nothing_held()
    assert not Worker.objects.exists()
    assert workers("--until-empty").end() == 0
    for edition in editions:
        assert newsroom.books(edition).sent == READERS
    # It was a storm over work, not over workers that had nothing to do yet.
    assert Attempt.objects.values("worker").distinct().count() > SIGTERMS / 5
    copies = READERS * len(editions)
    summary = provider.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (copies, copies)


def test_an_idle_worker_ends_with_0_and_says_good_bye(newsroom: Newsroom, workers: Begin) -> None:
    worker = workers()
    eventually(lambda: Worker.objects.exists(), "it arrived")

    assert worker.stop() == 0, worker.said

    assert not Worker.objects.exists()


def test_ctrl_c_lets_the_call_in_the_air_finish(
    newsroom: Newsroom, provider: SandboxServer, workers: Begin, all_got_one: AllGotOne
) -> None:
    edition = newsroom.publish(readers=5)
    provider.sandbox.set_fault("hold", calls=1)
    worker = workers(DELIVERY_HTTP_DEADLINE_S="60")
    held(provider)

    worker.signal(signal.SIGINT)
    provider.sandbox.gate.release()

    assert worker.end() == 0, worker.said
    all_got_one(edition, 5)
    assert "nothing is left half-way" in worker.said
    assert "Traceback" not in worker.said


@pytest.mark.parametrize(
    ("first", "second"),
    [(signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)],
    ids=["SIGTERM and SIGINT", "SIGINT and SIGTERM"],
)
def test_a_second_signal_of_either_kind_ends_it_at_once(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Begin,
    all_got_one: AllGotOne,
    first: signal.Signals,
    second: signal.Signals,
) -> None:
    edition = newsroom.publish(readers=5)
    provider.sandbox.set_fault("hold", calls=1)
    worker = workers(DELIVERY_HTTP_DEADLINE_S="60")
    held(provider)

    worker.signal(first)
    worker.signal(second)

    # Both waited at the same time, and which of them is taken first is the system's choice.
    assert worker.end() in {128 + first, 128 + second}
    provider.sandbox.gate.release("close")
    newsroom.let_time_pass(100)
    assert workers("--until-empty").end() == 0
    all_got_one(edition, 5)


def test_an_idle_worker_ends_with_0_while_the_database_is_away(
    newsroom: Newsroom, server: OwnServer, workers: Begin
) -> None:
    worker = workers()
    eventually(lambda: Worker.objects.exists(), "it arrived")

    with server.away("immediate"):
        worker.wait_for("the database is away")
        assert worker.stop() == 0, worker.said


@pytest.fixture
def line(provider: SandboxServer) -> Iterator[StallingLine]:
    """A line to the provider that can stop in the middle of a request."""
    with closing(StallingLine(provider.port)) as line:
        yield line


def test_a_worker_whose_look_up_hangs_ends_with_0_when_its_time_is_over(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Begin,
    line: StallingLine,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=5)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    line.stall_at(b"/messages/outbound")
    worker = workers(POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()

    assert worker.stop() == 0, worker.said

    assert Batch.objects.get().state == "unknown"
    assert workers("--until-empty").end() == 0
    all_got_one(edition, 5)


def test_a_worker_that_asks_for_the_streams_setting_ends_with_0(
    newsroom: Newsroom, workers: Begin, line: StallingLine
) -> None:
    line.stall_at(b"/message-streams/")
    worker = workers(POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()

    assert worker.stop() == 0, worker.said


def test_a_signal_during_the_start_leaves_nothing_behind(
    newsroom: Newsroom, provider: SandboxServer, workers: Begin, all_got_one: AllGotOne
) -> None:
    edition = newsroom.publish(readers=5)
    dice = random.Random(SEED)
    for _ in range(6):
        worker = workers()
        # The pace of the starts: from before Python itself is up to well after the first claim.
        worker.ends_within(dice.uniform(0, 1))
        code = worker.stop()
        # Before it waits for signals it holds nothing, and ends as any program does.
        assert code == 0 or (code == -signal.SIGTERM and "is running" not in worker.said)
        assert nothing_held()
        connection.close()

    assert not Worker.objects.exists()
    assert workers("--until-empty").end() == 0
    all_got_one(edition, 5)
