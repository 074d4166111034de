"""Count the statements of a batch and the Python calls of a copy.

Counts, unlike times, are the same on every machine.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from django.db import connection

from delivery.models import Attempt
from delivery.worker.step import Dispatcher
from newsletter_site.register_hooks_and_tasks import register_hooks
from postmark_sandbox.server import SandboxServer
from tests.delivery.edition_factory import Newsroom

# The statements that claim, start and settle a batch, in order.
STATEMENTS = [
    "SELECT * FROM claim_batch_1",
    "SELECT * FROM start_batch_1",
    "SELECT * FROM settle_batch_1",
]
# The highest allowed numbers of calls per copy. 25 and 89 calls were measured. If every
# message were built from scratch, there would be 63 and 249 calls.
PYTHON_CALLS, ALL_CALLS = 30, 100


@pytest.fixture
def hands(newsroom: Newsroom, provider: SandboxServer) -> Dispatcher:
    register_hooks()
    return newsroom.dispatcher()


@contextmanager
def statements() -> Iterator[list[str]]:
    """Record the statements that this block sends to the database, each in one line."""
    sent: list[str] = []

    def note(
        execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any
    ) -> Any:
        sent.append(" ".join(sql.split()))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        yield sent


@contextmanager
def calls() -> Iterator[dict[str, int]]:
    """Count the calls in this block: of Python functions, and of all functions."""
    counts = {"python": 0, "all": 0}

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            counts["python"] += 1
        if event in {"call", "c_call"}:
            counts["all"] += 1

    sys.setprofile(count)
    try:
        yield counts
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("size", [2, 200])
def test_a_batch_takes_three_statements_however_many_copies_it_has(
    newsroom: Newsroom, hands: Dispatcher, settings: Any, size: int
) -> None:
    settings.DELIVERY_BATCH_SIZE = size
    newsroom.publish(readers=3 * size)
    # Count the third step. The first step also reads the edition, and every second step first
    # searches for a due look-up.
    assert hands.step()
    assert hands.step()
    with statements() as sent:
        assert hands.step()
    assert [
        statement
        for statement, was_sent in zip(STATEMENTS, sent, strict=True)
        if not was_sent.startswith(statement)
    ] == []
    assert list(Attempt.objects.values_list("messages", flat=True)) == [size] * 3


def test_python_work_per_copy_stays_small(
    newsroom: Newsroom, hands: Dispatcher, settings: Any
) -> None:
    newsroom.confirm(400)
    counted = {}
    for size in (200, 100, 400):
        # The first send is not counted, because it includes work that a process does only once.
        settings.DELIVERY_BATCH_SIZE = size
        newsroom.publish(html="<p>Dear {{ name|reader }}</p>" * 20)
        with calls() as counts:
            hands.step()
        counted[size] = counts
        while hands.step():
            pass
    per_copy = {kind: (counted[400][kind] - counted[100][kind]) / 300 for kind in ("python", "all")}
    assert per_copy["python"] <= PYTHON_CALLS
    assert per_copy["all"] <= ALL_CALLS
