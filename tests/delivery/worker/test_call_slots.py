"""The number of calls in flight is limited while more batches are prepared."""

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from delivery.models import Attempt, Batch
from delivery.provider.deadline_clock import now_s
from delivery.queue.claim_due_batch import claim
from delivery.worker.call_slots import QUICK_S, CallSlots, Slot
from delivery.worker.worker_process import Worker
from postmark_sandbox.server import SandboxServer
from tests.delivery.edition_factory import Newsroom
from tests.faults.wait_until import eventually

LONG_S = 20.0


def goes_on() -> bool:
    return False


def stops() -> bool:
    return True


def comes(place: Slot, *, within_s: float = LONG_S) -> bool:
    return place.acquire(until_s=now_s() + within_s, is_stopping=goes_on)


def test_there_are_as_many_slots_as_configured() -> None:
    calls = CallSlots(2)
    first, second, third = (Slot(calls) for _ in range(3))
    assert [comes(first), comes(second), comes(third, within_s=0.05)] == [True, True, False]
    first.release()
    assert comes(third)


def test_slot_is_released_only_once() -> None:
    calls = CallSlots(1)
    first, second, third = (Slot(calls) for _ in range(3))
    assert comes(first)
    first.release()
    first.release()
    assert comes(second)
    assert not comes(third, within_s=0.05)


def test_free_slot_is_acquired_even_after_the_limit() -> None:
    # A slot is given even after the deadline, because the start is refused later, when the call is
    # recorded.
    assert comes(Slot(CallSlots(1)), within_s=-1.0)


def test_waiting_thread_gets_the_released_slot() -> None:
    calls = CallSlots(1)
    first, second = Slot(calls), Slot(calls)
    assert comes(first)
    with waits_for(lambda is_stopping: comes_while(second, is_stopping)) as got:
        assert got == []
        first.release()
    assert got == [True]


def test_stopping_worker_acquires_no_free_slot() -> None:
    calls = CallSlots(2)
    held = calls.admit_claim(goes_on)
    assert held is not None
    for place in (held, Slot(calls)):
        assert not place.acquire(until_s=now_s() + LONG_S, is_stopping=stops)
    assert calls.admit_claim(stops) is None


def test_slot_released_by_the_stop_starts_no_call() -> None:
    calls, stopping = CallSlots(1), threading.Event()
    first, second = Slot(calls), Slot(calls)
    assert comes(first)
    with waits_for(lambda is_stopping: comes_while(second, is_stopping), stopping) as got:
        stopping.set()
        first.release()
    assert got == [False]


def test_first_claims_need_a_free_slot() -> None:
    calls = CallSlots(1)
    first = calls.admit_claim(goes_on)
    assert first is not None
    assert comes(first)
    began_s = now_s()
    assert calls.admit_claim(goes_on) is None
    assert now_s() - began_s >= QUICK_S
    first.release()
    assert calls.admit_claim(goes_on) is not None


def test_batches_are_claimed_ahead_while_calls_are_quick() -> None:
    calls = CallSlots(1)
    calls.record_call(QUICK_S)
    first, second = calls.admit_claim(goes_on), calls.admit_claim(goes_on)
    assert first is not None
    assert second is not None
    assert comes(first)
    assert not comes(second, within_s=0.05)


def test_a_slow_call_ends_claiming_ahead() -> None:
    calls = CallSlots(1)
    calls.record_call(0.1)
    assert comes(Slot(calls))
    calls.record_call(QUICK_S + 0.1)
    assert calls.admit_claim(goes_on) is None


def test_timed_out_wait_requires_slots_until_a_quick_call() -> None:
    calls = CallSlots(1)
    calls.record_call(0.1)
    hangs = Slot(calls)
    assert comes(hangs)
    began_s = now_s()
    assert not comes(Slot(calls))
    assert QUICK_S <= now_s() - began_s < LONG_S
    assert calls.admit_claim(goes_on) is None
    hangs.release()
    calls.record_call(0.1)
    assert comes(Slot(calls))
    assert calls.admit_claim(goes_on) is not None


def test_rendered_batch_gets_its_slot_before_new_claims() -> None:
    calls = CallSlots(1)
    hangs, ready = Slot(calls), Slot(calls)
    assert comes(hangs)
    with waits_for(lambda is_stopping: comes_while(ready, is_stopping)) as got:
        hangs.release()
        # This thread tries to take the freed slot before the waiting thread wakes up.
        assert calls.admit_claim(lambda: bool(got)) is None
    assert got == [True]


def comes_while(place: Slot, is_stopping: Callable[[], bool]) -> bool:
    return place.acquire(until_s=now_s() + LONG_S, is_stopping=is_stopping)


def announcing(event: threading.Event, is_stopping: Callable[[], bool]) -> Callable[[], bool]:
    """Return a function that sets `event` and then calls `is_stopping`."""

    def asked() -> bool:
        event.set()
        return is_stopping()

    return asked


@contextmanager
def waits_for(
    wait: Callable[[Callable[[], bool]], bool], stopping: threading.Event | None = None
) -> Iterator[list[bool]]:
    """Run a thread that waits when the block starts; end it before the block ends."""
    stopping = stopping or threading.Event()
    got: list[bool] = []
    waits = threading.Event()
    waiting = threading.Thread(target=lambda: got.append(wait(announcing(waits, stopping.is_set))))
    waiting.start()
    assert waits.wait(LONG_S)
    yield got
    waiting.join(LONG_S)


@pytest.fixture
def worker(newsroom: Newsroom, settings: Any) -> Worker:
    settings.DELIVERY_HTTP_DEADLINE_S = LONG_S
    settings.DELIVERY_LEASE_S = LONG_S
    newsroom.publish(readers=20, batch_size=2)
    return Worker(2, is_awaited=True)


def states() -> Counter[str]:
    return Counter(Batch.objects.values_list("state", flat=True))


def run(worker: Worker) -> None:
    worker.run()
    connection.close()


@contextmanager
def running(worker: Worker, provider: SandboxServer) -> Iterator[None]:
    """Run a worker during the block; stop it after its calls are answered."""
    thread = threading.Thread(target=run, args=[worker])
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        provider.sandbox.gate.release("answer")
        thread.join(LONG_S)
    assert not thread.is_alive()


def test_a_stopping_worker_only_ends_its_calls(provider: SandboxServer, worker: Worker) -> None:
    provider.sandbox.set_fault("hold", moment="before_accept", calls=2)
    gate = provider.sandbox.gate
    with running(worker, provider):
        assert gate.wait_until(lambda: gate.held == 2, LONG_S)
        assert Attempt.objects.count() == 2
    assert states() == Counter(done=2, ready=8)


def test_a_batch_claimed_ahead_is_given_back(provider: SandboxServer, worker: Worker) -> None:
    # The first call is quick, and the next two hang. Each fault rule holds the second call that
    # it sees. The second rule does not see the call that the first rule holds.
    for _ in range(2):
        provider.sandbox.set_fault("hold", moment="before_accept", nth=2)
    with running(worker, provider):
        given_back = Batch.objects.filter(state="ready", epoch=1)
        eventually(
            lambda: given_back.exists() or Attempt.objects.count() > 3,
            "a batch was claimed ahead of its call, and given back",
        )
        # There were no more calls than allowed, and no sweep had to recover the batch.
        assert Attempt.objects.count() == 3
        assert states() == Counter(done=1, sending=2, ready=7)
        claimed = claim(uuid.uuid4(), lease_s=LONG_S)
        assert claimed is not None
        assert claimed.epoch == 2
    assert set(Batch.objects.values_list("crashes", flat=True)) == {0}
