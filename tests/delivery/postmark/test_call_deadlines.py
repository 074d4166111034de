"""Calls are ended at their deadlines; other calls are not disturbed."""

import threading
import time

import pytest

from delivery.postmark.call_deadlines import Deadlines

# Long enough that a test that waits for it fails.
LONG_S = 20.0


@pytest.fixture
def deadlines() -> Deadlines:
    return Deadlines(time.monotonic)


def test_call_past_its_deadline_is_ended_once(deadlines: Deadlines) -> None:
    ended = threading.Semaphore(0)
    deadlines.add(time.monotonic() + 0.05, ended.release)
    assert ended.acquire(timeout=LONG_S)
    after = threading.Event()
    deadlines.add(time.monotonic(), after.set)
    assert after.wait(LONG_S)
    assert not ended.acquire(blocking=False)


def test_cancelled_deadline_does_not_end_the_call() -> None:
    ended: list[str] = []
    later = threading.Event()
    passed_s = 0.0
    deadlines = Deadlines(lambda: passed_s)
    deadlines.cancel(deadlines.add(LONG_S, lambda: ended.append("taken back")))
    passed_s = LONG_S
    deadlines.add(0, later.set)
    assert later.wait(LONG_S)
    assert ended == []


def test_one_thread_serves_all_deadlines(deadlines: Deadlines) -> None:
    before = set(threading.enumerate())
    for _ in range(50):
        deadlines.cancel(deadlines.add(time.monotonic() + LONG_S, list))
    (watching,) = set(threading.enumerate()) - before
    assert (watching.name, watching.daemon) == ("deadlines", True)


def test_an_earlier_deadline_does_not_wait_for_a_later_one() -> None:
    looked = threading.Semaphore(0)

    def clock() -> float:
        looked.release()
        return time.monotonic()

    deadlines = Deadlines(clock)
    deadlines.add(time.monotonic() + 10 * LONG_S, list)
    # The thread reads the clock, and then keeps the lock until it sleeps.
    assert looked.acquire(timeout=LONG_S)
    ended = threading.Event()
    deadlines.add(time.monotonic() + 0.01, ended.set)
    assert ended.wait(LONG_S)


def test_error_at_one_deadline_does_not_block_the_others(
    deadlines: Deadlines, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks() -> None:
        raise RuntimeError("a socket that is none")

    ended = threading.Semaphore(0)
    at_s = time.monotonic() + 0.05
    for end in (breaks, ended.release):
        deadlines.add(at_s, end)
    assert ended.acquire(timeout=LONG_S)
    deadlines.add(time.monotonic(), ended.release)
    assert ended.acquire(timeout=LONG_S)
    assert "could not be ended at its deadline" in caplog.text
