"""Every line about a batch bears its ids: of whichever step it is, and also when that breaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from delivery import log_ids
from delivery.models import Edition
from delivery.worker import Worker
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.log_lines import Lines, log_lines


@pytest.fixture
def lines() -> Iterator[Lines]:
    with log_lines() as lines:
        yield lines
        log_ids.bind(**dict.fromkeys(log_ids.IDS))


def ids_of(newsroom: Newsroom, edition: Edition) -> dict[str, object]:
    """What stands on a line about the only batch of an edition."""
    return {
        "issue": str(edition.issue_id),
        "version": edition.version,
        "batch": newsroom.batch(edition).pk,
        "attempt": newsroom.attempts(edition)[-1].pk.hex,
    }


def test_the_line_of_a_call(newsroom: Newsroom, provider: SandboxServer, lines: Lines) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.step()
    (line,) = [line for line in lines() if line["logger"] == "delivery.dispatch"]
    assert ids_of(newsroom, edition).items() <= line.items()
    assert line["event"].endswith(": 2 copies, done")


def test_the_line_of_a_look_up_names_the_call_that_is_asked_about(
    newsroom: Newsroom, provider: SandboxServer, lines: Lines
) -> None:
    edition = newsroom.publish(readers=2)
    provider.sandbox.set_fault("accept_then_close")
    newsroom.step()
    log_ids.bind(**dict.fromkeys(log_ids.IDS))
    newsroom.deliver_after(100)
    (line,) = [line for line in lines() if line["logger"] == "delivery.look_up"]
    assert ids_of(newsroom, edition).items() <= line.items()


def test_the_line_of_the_sweep_names_the_call_and_the_next_line_does_not(
    newsroom: Newsroom, provider: SandboxServer, lines: Lines
) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.step()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE batch SET state = 'sending', owner = gen_random_uuid(), attempt = %s,"
            " lease_until = clock_timestamp() - interval '1 s', sent = 0, waiting = size",
            [newsroom.attempts(edition)[0].pk],
        )
        cursor.execute(
            "UPDATE delivery SET outcome = 'waiting', sent_at = NULL,"
            " provider_message_id = NULL, evidence = ''"
        )
    log_ids.bind(**dict.fromkeys(log_ids.IDS))
    newsroom.sweep()

    (line,) = [line for line in lines() if line["logger"] == "delivery.queue.sweep"]
    assert ids_of(newsroom, edition).items() <= line.items()
    assert log_ids.bound() == {}


def test_the_line_of_a_step_that_broke_names_what_it_had_in_hand(
    newsroom: Newsroom, provider: SandboxServer, lines: Lines
) -> None:
    edition = newsroom.publish(readers=2)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE delivery ADD CONSTRAINT closed CHECK (false) NOT VALID")
    try:
        worker = Worker(concurrency=1, poll_s=0.05)
        worker.run(until=lambda: any("a step failed" in line["event"] for line in lines()))
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE delivery DROP CONSTRAINT closed")

    line = next(line for line in lines() if "a step failed" in line["event"])
    assert (ids_of(newsroom, edition) | {"worker": worker.id.hex}).items() <= line.items()
    assert line["fault"].endswith("CheckViolation 23514 closed")
    assert "reader" not in line["fault"]
