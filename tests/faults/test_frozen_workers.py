"""A worker that is frozen past its lease, at every stage of a batch, and wakes up again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from delivery.models import Alarm, Evidence
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import THE_LAST_LOOK, Newsroom
from tests.faults.own_server import OwnServer
from tests.faults.stalling_line import StallingLine
from tests.faults.waiting_for import eventually, held
from tests.faults.watched_worker import WatchedWorker

Begin = Callable[..., WatchedWorker]
AllGotOne = Callable[[Any, int], None]

READERS = 20


def taken_over(workers: Begin, **settings: str) -> None:
    """Another worker does everything that is left to do, and ends."""
    rescuer = workers("--until-empty", **settings)
    assert rescuer.end() == 0, rescuer.said


def woken(frozen: WatchedWorker, words: str) -> None:
    """The frozen worker wakes up, comes to say these words, and is still in order."""
    frozen.signal(signal.SIGCONT)
    frozen.wait_for(words)
    assert frozen.stop() == 0, frozen.said


def test_frozen_between_the_claim_and_the_record_of_the_call(
    newsroom: Newsroom,
    provider: SandboxServer,
    server: OwnServer,
    database: str,
    workers: Begin,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=READERS)
    with closing(psycopg.connect(server.url(database))) as other:
        # It has claimed, and waits to read the copies that it is to render.
        other.execute("LOCK TABLE delivery IN ACCESS EXCLUSIVE MODE")
        frozen = workers("--concurrency", "1")
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        frozen.freeze()
    taken_over(workers)

    # Its claim is lost and it says nothing about that; it goes on with what is in line next.
    later = newsroom.publish()
    frozen.signal(signal.SIGCONT)
    eventually(lambda: newsroom.outcomes(later) == ["sent"] * READERS, "it went on")
    assert frozen.stop() == 0, frozen.said

    assert newsroom.books(edition).sent == newsroom.books(later).sent == READERS
    assert len(newsroom.attempts(edition)) == len(newsroom.attempts(later)) == 1
    summary = provider.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (2 * READERS, 2 * READERS)


def test_frozen_in_the_middle_of_recording_the_call(
    newsroom: Newsroom,
    provider: SandboxServer,
    server: OwnServer,
    database: str,
    workers: Begin,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=READERS)
    with closing(psycopg.connect(server.url(database))) as other:
        other.execute("LOCK TABLE subscriber IN ACCESS EXCLUSIVE MODE")
        frozen = workers("--concurrency", "1")
        newsroom.wait_for_a_backend_that_waits_for_a_lock(doing=THE_LAST_LOOK)
        frozen.freeze()
    # Its transaction holds the batch's row until the server has no more patience with it.
    taken_over(workers)

    woken(frozen, "a step failed")

    all_got_one(edition, READERS)
    assert len(newsroom.attempts(edition)) == 1


@pytest.fixture
def line(provider: SandboxServer, settings: Any) -> Iterator[StallingLine]:
    """A line to the provider that can stop in the middle of a request."""
    line = StallingLine(provider.port)
    yield line
    line.close()


def test_frozen_in_the_middle_of_sending_before_the_provider_has_read_it_all(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Begin,
    line: StallingLine,
    all_got_one: AllGotOne,
    settings: Any,
) -> None:
    # More than all the buffers between here and there take.
    settings.DELIVERY_BATCH_SIZE = 200
    edition = newsroom.publish(readers=200, html=f"<p>{'Swifts. ' * 6000}</p>")
    line.stall_after(500_000)
    frozen = workers("--concurrency", "1", POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()
    frozen.freeze()
    taken_over(workers)
    assert provider.sandbox.summary()["accepted"] == 200

    frozen.signal(signal.SIGCONT)
    frozen.wait_for("attempt")
    line.go_on()
    line.wait_until_over()
    assert frozen.stop() == 0, frozen.said

    all_got_one(edition, 200)
    assert len(newsroom.attempts(edition)) == 2


def test_frozen_after_the_acceptance_and_before_it_is_written_down(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Begin,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=READERS)
    provider.sandbox.set_fault("hold", moment="after_accept", calls=1)
    frozen = workers("--concurrency", "1")
    held(provider)
    frozen.freeze()
    provider.sandbox.gate.release()
    taken_over(workers)

    woken(frozen, "claim was lost")

    all_got_one(edition, READERS)
    assert len(newsroom.attempts(edition)) == 1
    assert not Alarm.objects.exists()


def test_an_answer_that_wakes_up_with_its_worker_is_kept_while_the_search_is_down(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Begin,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=READERS)
    provider.sandbox.set_fault("hold", moment="after_accept", calls=1)
    provider.sandbox.set_fault("search_503", calls=None)
    frozen = workers("--concurrency", "1")
    held(provider)
    frozen.freeze()
    provider.sandbox.gate.release()
    other = workers("--concurrency", "1")
    eventually(lambda: newsroom.outcomes(edition) == ["unknown"] * READERS, "all were unknown")

    woken(frozen, "claim was lost")

    kept = Evidence.objects.filter(issue_id=edition.issue_id, source=Evidence.Source.REPLY)
    assert kept.count() == READERS
    provider.sandbox.faults.clear()
    assert other.stop() == 0, other.said
    taken_over(workers)
    all_got_one(edition, READERS)


def test_frozen_in_the_middle_of_settling(
    newsroom: Newsroom,
    provider: SandboxServer,
    server: OwnServer,
    database: str,
    workers: Begin,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=READERS)
    provider.sandbox.set_fault("hold", moment="after_accept", calls=1)
    frozen = workers("--concurrency", "1")
    held(provider)
    with closing(psycopg.connect(server.url(database))) as other:
        other.execute("SELECT 1 FROM delivery ORDER BY recipient_id LIMIT 1 FOR UPDATE")
        provider.sandbox.gate.release()
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        frozen.freeze()
    taken_over(workers)

    # The server had ended its session; over a new one it learns that it is too late.
    woken(frozen, "claim was lost")

    all_got_one(edition, READERS)
    assert "could not be written down" in frozen.said
    assert len(newsroom.attempts(edition)) == 1


def test_frozen_during_a_look_up(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Begin,
    line: StallingLine,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(readers=READERS)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    line.stall_at(b"/messages/outbound")
    frozen = workers("--concurrency", "1", POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()
    frozen.freeze()
    taken_over(workers)

    line.go_on()
    frozen.signal(signal.SIGCONT)
    assert frozen.stop() == 0, frozen.said
    line.wait_until_over()

    all_got_one(edition, READERS)
    assert len(newsroom.attempts(edition)) == 1
