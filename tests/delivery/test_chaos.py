"""
A large list under a storm: workers killed at random, calls accepted and cut off.

Seeded, so that the same storm can be had again. `HOMING_CHAOS_READERS` and `HOMING_CHAOS_SEED` make
it another.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator

import pytest

from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.delivery.worker_process import WorkerProcess

READERS = int(os.environ.get("HOMING_CHAOS_READERS", "100000"))
SEED = int(os.environ.get("HOMING_CHAOS_SEED", "1789"))
WORKERS = 4
# Enough batches that kills and cuts find some of them in the air, however short the list.
BATCHES = 200
# Killing goes on for as long as there is something to send, but never for ever.
LONGEST_STORM_S = 900

TIMES = {
    "DELIVERY_HTTP_DEADLINE_S": "4",
    "DELIVERY_LEASE_S": "2",
    "DELIVERY_LOOKUP_AFTER_S": "1,2,3",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
}


@pytest.fixture
def slow_provider(settings: object) -> Iterator[SandboxServer]:
    """A provider that takes its time, so that a kill finds calls in the air."""
    settings.DELIVERY_BATCH_SIZE = min(200, READERS // BATCHES)  # type: ignore[attr-defined]
    with SandboxServer(seed=SEED, latency_s=0.1) as server:
        yield server


def one_copy_each(newsroom: Newsroom, provider: SandboxServer, edition: object) -> None:
    books = newsroom.books(edition)  # type: ignore[arg-type]
    assert (books.audience, books.sent) == (READERS, READERS)
    summary = provider.sandbox.summary()
    assert summary["accepted"] == READERS
    assert summary["distinct_deliveries"] == READERS
    assert summary["deliveries_with_more_than_one_copy"] == 0


@pytest.mark.timeout(LONGEST_STORM_S + 120)
def test_of_four_workers_one_is_killed_every_second_and_everybody_gets_one_copy(
    newsroom: Newsroom, slow_provider: SandboxServer, database_url: str
) -> None:
    edition = newsroom.publish(readers=READERS)
    dice = random.Random(SEED)

    def begin() -> WorkerProcess:
        return WorkerProcess(database_url, slow_provider.url, "--until-empty", **TIMES)

    workers = [begin() for _ in range(WORKERS)]
    kills = 0
    began = time.monotonic()
    try:
        while time.monotonic() - began < LONGEST_STORM_S:
            if newsroom.books(edition).sent == READERS:
                break
            unlucky = dice.randrange(WORKERS)
            # The pace of the storm: a second to work, then the end, unless it came by itself.
            workers[unlucky].ends_within(1)
            workers[unlucky].kill()
            kills += 1
            workers[unlucky] = begin()
        for worker in workers:
            assert worker.end() == 0, worker.errors
    finally:
        for worker in workers:
            if worker.is_running():
                worker.kill()

    assert kills >= 3
    one_copy_each(newsroom, slow_provider, edition)


@pytest.mark.timeout(LONGEST_STORM_S + 120)
def test_of_every_hundred_calls_five_are_accepted_and_cut_off_and_everybody_gets_one_copy(
    newsroom: Newsroom, slow_provider: SandboxServer, database_url: str
) -> None:
    slow_provider.sandbox.set_fault("accept_then_close", probability=0.05, seed=SEED, calls=None)
    edition = newsroom.publish(readers=READERS)

    workers = [
        WorkerProcess(database_url, slow_provider.url, "--until-empty", **TIMES)
        for _ in range(WORKERS)
    ]
    try:
        for worker in workers:
            assert worker.end(LONGEST_STORM_S) == 0, worker.errors
    finally:
        for worker in workers:
            if worker.is_running():
                worker.kill()

    cut_off = [attempt for attempt in newsroom.attempts(edition) if attempt.result == "unknown"]
    assert cut_off
    one_copy_each(newsroom, slow_provider, edition)
