"""As many calls in the air as were wanted and no more, while the next batches are made ready."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from delivery.calls_in_flight import CallsInFlight, threads_for
from delivery.models import Attempt, Batch
from delivery.postmark import now_s
from delivery.worker import Worker
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.faults.waiting_for import eventually

LONG_S = 60.0


def goes_on() -> bool:
    return False


def stops() -> bool:
    return True


# --- The places ---------------------------------------------------------------------------------


def test_there_are_as_many_places_as_were_wanted() -> None:
    calls = CallsInFlight(2)
    later = now_s() + LONG_S
    with (
        calls.place(until_s=later, is_stopping=goes_on) as first,
        calls.place(until_s=later, is_stopping=goes_on) as second,
        calls.place(until_s=now_s() + 0.05, is_stopping=goes_on) as third,
    ):
        assert (first, second, third) == (True, True, False)
    with calls.place(until_s=later, is_stopping=goes_on) as again:
        assert again


def test_a_place_is_free_again_after_an_error() -> None:
    calls = CallsInFlight(1)
    with (
        pytest.raises(ZeroDivisionError),
        calls.place(until_s=now_s() + LONG_S, is_stopping=goes_on),
    ):
        raise ZeroDivisionError
    with calls.place(until_s=now_s() + LONG_S, is_stopping=goes_on) as again:
        assert again


def test_whoever_waits_gets_the_place_that_comes_free() -> None:
    calls = CallsInFlight(1)
    got: list[bool] = []

    def wait() -> None:
        with calls.place(until_s=now_s() + LONG_S, is_stopping=goes_on) as place:
            got.append(place)

    with calls.place(until_s=now_s() + LONG_S, is_stopping=goes_on):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert got == []
    waiting.join(LONG_S)
    assert got == [True]


def test_a_worker_that_stops_begins_no_call_though_there_is_a_place() -> None:
    with CallsInFlight(1).place(until_s=now_s() + LONG_S, is_stopping=stops) as place:
        assert not place


def test_a_place_that_comes_free_by_the_stop_itself_begins_no_call() -> None:
    calls, stopping = CallsInFlight(1), threading.Event()
    got: list[bool] = []
    waits = threading.Event()

    def is_stopping() -> bool:
        waits.set()
        return stopping.is_set()

    def wait() -> None:
        with calls.place(until_s=now_s() + LONG_S, is_stopping=is_stopping) as place:
            got.append(place)

    with calls.place(until_s=now_s() + LONG_S, is_stopping=goes_on):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert waits.wait(LONG_S)
        stopping.set()
    waiting.join(LONG_S)
    assert got == [False]


@pytest.mark.parametrize(("calls", "threads"), [(1, 1), (2, 3), (4, 6), (8, 12)])
def test_half_as_many_threads_again_make_the_next_batches_ready(calls: int, threads: int) -> None:
    assert threads_for(calls) == threads


# --- A worker -----------------------------------------------------------------------------------


@pytest.fixture
def worker(newsroom: Newsroom, provider: SandboxServer, settings: Any) -> Worker:
    """Two calls at a time; ten batches wait, and each call is held by the provider."""
    settings.DELIVERY_BATCH_SIZE = 2
    settings.DELIVERY_HTTP_DEADLINE_S = LONG_S
    settings.DELIVERY_LEASE_S = LONG_S
    newsroom.publish(readers=20)
    provider.sandbox.set_fault("hold", moment="before_accept", calls=2)
    return Worker(concurrency=2, poll_s=0.05)


def states() -> Counter[str]:
    return Counter(Batch.objects.values_list("state", flat=True))


def run(worker: Worker) -> None:
    worker.run()
    connection.close()


def wait_for(wanted: Counter[str]) -> None:
    """Until the batches stand so."""
    eventually(lambda: states() == wanted, f"the batches are {dict(wanted)}")


def test_while_all_calls_are_in_the_air_the_next_batch_is_made_ready_and_given_back_at_a_stop(
    newsroom: Newsroom, provider: SandboxServer, worker: Worker
) -> None:
    gate = provider.sandbox.gate
    running = threading.Thread(target=run, args=[worker])
    running.start()
    try:
        # One is claimed beyond those in the air, and its call is not on record yet.
        wait_for(Counter(sending=2, claimed=1, ready=7))
        assert gate.wait_until(lambda: gate.held == 2, LONG_S)
        assert Attempt.objects.count() == 2
        worker.stop()
        # Those in the air are waited for, it is not.
        wait_for(Counter(sending=2, ready=8))
    finally:
        worker.stop()
        gate.release("answer")
        running.join(LONG_S)
    assert not running.is_alive()
    assert states() == Counter(done=2, ready=8)
    assert set(Batch.objects.values_list("crashes", flat=True)) == {0}


def test_a_batch_that_waits_too_long_for_its_call_goes_back_into_line_before_its_lease_ends(
    newsroom: Newsroom, provider: SandboxServer, settings: Any, worker: Worker
) -> None:
    settings.DELIVERY_LEASE_S = 1.0
    worker = Worker(concurrency=2, poll_s=0.05)
    gate = provider.sandbox.gate
    running = threading.Thread(target=run, args=[worker])
    running.start()
    try:
        assert gate.wait_until(lambda: gate.held == 2, LONG_S)
        # Its epoch tells. No sweep had to take it away.
        again = Batch.objects.filter(epoch__gte=2)
        eventually(again.exists, "a batch was claimed, given back and claimed again")
        assert set(Batch.objects.values_list("crashes", flat=True)) == {0}
    finally:
        worker.stop()
        gate.release("answer")
        running.join(LONG_S)
    assert Attempt.objects.count() == 2
