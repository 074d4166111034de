"""What takes too long is ended at its moment, and what ends in time is left alone."""

import threading
import time

import pytest

from delivery.postmark.call_deadlines import Deadlines

# So long that a test which waits for it has failed.
LONG_S = 20.0


@pytest.fixture
def deadlines() -> Deadlines:
    return Deadlines(time.monotonic)


def test_what_is_not_over_by_its_deadline_is_ended_once(deadlines: Deadlines) -> None:
    ended = threading.Semaphore(0)
    deadlines.add(time.monotonic() + 0.05, ended.release)
    assert ended.acquire(timeout=LONG_S)
    after = threading.Event()
    deadlines.add(time.monotonic(), after.set)
    assert after.wait(LONG_S)
    assert not ended.acquire(blocking=False)


def test_what_was_taken_back_is_not_ended() -> None:
    ended: list[str] = []
    later = threading.Event()
    passed_s = 0.0
    deadlines = Deadlines(lambda: passed_s)
    deadlines.cancel(deadlines.add(LONG_S, lambda: ended.append("taken back")))
    passed_s = LONG_S
    deadlines.add(0, later.set)
    assert later.wait(LONG_S)
    assert ended == []


def test_one_thread_watches_over_all_of_them(deadlines: Deadlines) -> None:
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
    # It looks at the clock before it goes to sleep, and lets nobody in until it sleeps.
    assert looked.acquire(timeout=LONG_S)
    ended = threading.Event()
    deadlines.add(time.monotonic() + 0.01, ended.set)
    assert ended.wait(LONG_S)


def test_one_that_does_not_let_itself_be_ended_keeps_none_of_the_others_alive(
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
