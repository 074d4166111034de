"""One idle thread polls for its group, and all threads get the result."""

import threading
from collections.abc import Callable

import pytest

from delivery.worker.shared_poll import SharedPoll


class Group:
    """Threads that wait for work. The threads' poll returns the value of `due`."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.due: set[str] = set()
        self.looks: list[int] = []
        self.has_looked = threading.Event()
        self.may_look_again = threading.Semaphore(0)
        self.poll = SharedPoll(
            self._look, is_stopping=self.stopping.is_set, pause=self.may_look_again.acquire
        )

    def _look(self) -> set[str]:
        self.looks.append(threading.get_ident())
        self.has_looked.set()
        return set(self.due)

    def waiting(self, name: str) -> threading.Thread:
        thread = threading.Thread(target=self.poll.wait, args=[name], daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        self.stopping.set()
        self.poll.wake()
        self.may_look_again.release(100)


@pytest.fixture
def group() -> Group:
    return Group()


def joined(*threads: threading.Thread) -> bool:
    for thread in threads:
        thread.join(20)
    return not any(thread.is_alive() for thread in threads)


def test_one_of_many_idle_threads_polls(group: Group) -> None:
    threads = [group.waiting("call") for _ in range(6)]
    assert group.has_looked.wait(20)
    for _ in range(3):
        group.has_looked.clear()
        group.may_look_again.release()
        assert group.has_looked.wait(20)
    assert len(group.looks) == 4  # one poll for the whole group each time, not one for each thread
    group.stop()
    assert joined(*threads)


def test_all_threads_of_due_work_return_and_others_wait(group: Group) -> None:
    calls = [group.waiting("call") for _ in range(3)]
    other = group.waiting("other")
    assert group.has_looked.wait(20)
    group.due = {"call"}
    group.may_look_again.release()
    assert joined(*calls)
    assert other.is_alive()
    group.stop()
    assert joined(other)


def test_failed_poll_is_raised_and_passed_to_another_thread(group: Group) -> None:
    failed: list[Exception] = []
    answers: list[Callable[[], set[str]]] = [lambda: 1 / 0, lambda: {"call"}]  # type: ignore[list-item]
    poll = SharedPoll(
        lambda: answers.pop(0)(), is_stopping=group.stopping.is_set, pause=lambda: None
    )

    def wait() -> None:
        try:
            poll.wait("call")
        except ZeroDivisionError as error:
            failed.append(error)

    threads = [threading.Thread(target=wait, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert joined(*threads)
    assert len(failed) == 1


def test_thread_whose_work_stays_due_polls_for_itself(group: Group) -> None:
    # Due work may wait for the rate limit, so every thread must try it often.
    group.due = {"call"}
    group.poll.wait("call")
    group.may_look_again.release(3)
    for _ in range(3):
        group.poll.wait("call")
    assert len(group.looks) == 1
