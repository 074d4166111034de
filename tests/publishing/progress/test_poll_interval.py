"""How long pages wait between polls, and how polls share a read of the database."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import pytest

from delivery.rules.edition_counts import EditionCounts
from publishing.editions.edition_status import status_from_counts
from publishing.progress.live_page import (
    LONGEST_S,
    OpenPages,
    SharedReadings,
    ask_again_s,
    reload_s,
)
from tests.delivery.because import because

NOW = datetime(2026, 9, 17, 6, 30, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
COUNTS_OF_ONE = EditionCounts(
    edition=1, issue=uuid.UUID(int=1), version=1, title="Herons", control="running",
    control_reason=None, control_at=None, unreconciled=False, published_at=LONG_AGO,
    held_until=LONG_AGO, audience=1000, sent=0, suppressed=0, withdrawn=0, failed=0, unknown=0,
    waiting=1000, missed=0, leased_batches=0, queued_batches=5, parked_batches=0,
    paused_batches=0, reason=None,
    next_try_at=LONG_AGO, next_lookup_at=None, unknown_since=None, worker_heard_at=NOW,
    worker_is_there=True, rate_per_s=0.0, now=NOW, slowed_to_per_s=None,
)  # fmt: skip


def after(seconds):
    return NOW + timedelta(seconds=seconds)


def asks(hidden=False, unchanged=0, pages=1, **facts):
    """Return seconds until the next poll for an edition with these facts."""
    status = status_from_counts(replace(COUNTS_OF_ONE, **facts))
    return ask_again_s(status, hidden=hidden, unchanged=unchanged, pages=pages)


SENDING = {"sent": 500, "waiting": 500, "rate_per_s": 10.0}
HELD = {"held_until": after(600)}
PAUSED = {"control": "paused", "queued_batches": 0, "paused_batches": 5}
DONE = {"sent": 1000, "waiting": 0, "queued_batches": 0}


@pytest.mark.parametrize(
    "facts",
    [
        HELD,
        {"held_until": NOW - timedelta(seconds=3)},
        SENDING,
        {"unknown": 200, "waiting": 0, "next_lookup_at": after(4), "rate_per_s": 0.1},
        {"next_try_at": after(9)},
    ],
)
def test_a_page_polls_every_two_seconds_before_an_event(facts):
    assert asks(**facts) == 2


def test_long_sends_have_longer_but_limited_pauses():
    assert asks(**{**SENDING, "rate_per_s": 500 / 240}) == 4
    assert asks(**{**SENDING, "rate_per_s": 0.001}) == 10
    # Editions that need a decision are polled every ten seconds.
    assert asks(**PAUSED) == 10
    assert asks(control="stopped", control_reason=because(), queued_batches=0) == 10
    # A cancelled edition is still polled while it has unconfirmed copies.
    assert asks(control="cancelled", sent=900, unknown=100, waiting=0, next_lookup_at=NOW) > 0


@pytest.mark.parametrize("facts", [SENDING, PAUSED, {"next_try_at": LONG_AGO}])
def test_pauses_grow_to_a_minute_without_news(facts):
    pauses = [asks(unchanged=n, **facts) for n in range(1, 9)]

    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (10, LONGEST_S)
    assert asks(unchanged=9999, **facts) == LONGEST_S


def test_a_page_polls_in_time_for_a_known_event():
    assert asks(unchanged=8, held_until=after(12)) == 12.5
    assert asks(unchanged=8, next_try_at=after(20)) == 20.5
    assert asks(unchanged=8, held_until=after(0.2)) == 2


def test_a_hidden_page_polls_once_a_minute():
    assert asks(hidden=True, **SENDING) == 60
    assert asks(hidden=True, held_until=after(3)) == 60
    assert asks(hidden=True, unchanged=8, **SENDING) == 60


@pytest.mark.parametrize(
    "facts",
    [
        DONE,
        {**DONE, "sent": 0, "withdrawn": 1000, "control": "cancelled"},
        {**DONE, "sent": 900, "unknown": 100, "control": "closed", "parked_batches": 1},
    ],
)
def test_an_ended_issue_is_not_polled(facts):
    assert asks(**facts) is None
    assert asks(hidden=True, unchanged=3, pages=500, **facts) is None


def test_all_pages_together_poll_twice_a_second():
    assert asks(pages=4, **SENDING) == 2
    assert asks(pages=20, **SENDING) == 10
    assert asks(pages=200, **SENDING) == 100


def test_pages_without_scripts_reload_until_the_issue_ends():
    assert reload_s(status_from_counts(replace(COUNTS_OF_ONE, **SENDING))) == 5
    assert reload_s(status_from_counts(replace(COUNTS_OF_ONE, **PAUSED))) == 10
    assert reload_s(status_from_counts(replace(COUNTS_OF_ONE, **DONE))) is None


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def test_only_visible_pages_that_poll_are_counted():
    clock = Clock()
    pages = OpenPages(within_s=90, limit=100, clock=clock)

    assert [pages.seen(name) for name in ("one", "two", "one")] == [1, 2, 2]
    assert pages.seen("three", hidden=True) == 2
    assert pages.seen("two", hidden=True) == 1
    clock.now = 91
    assert pages.seen("four") == 1


def test_readings_are_shared_for_a_second():
    clock, read = Clock(), []
    readings = SharedReadings(for_s=1, limit=10, clock=clock)

    def reading():
        read.append(clock.now)
        return len(read)

    assert [readings.get("a", reading) for _ in range(5)] == [1] * 5
    assert readings.get("b", reading) == 2
    clock.now = 1
    assert [readings.get("a", reading), readings.get("a", reading)] == [3, 3]


def test_concurrent_callers_wait_for_one_reading():
    readings, begun, read, got = SharedReadings(for_s=60, limit=10), Barrier(2), [], []

    def slow():
        read.append(1)
        begun.wait()
        return "read"

    first = Thread(target=lambda: got.append(readings.get("a", slow)))
    second = Thread(target=lambda: got.append(readings.get("a", slow)))
    first.start()
    second.start()
    begun.wait()
    first.join()
    second.join()

    assert (got, len(read)) == (["read", "read"], 1)


def test_invented_keys_do_not_fill_the_memory():
    pages = OpenPages(within_s=90, limit=10)
    assert max(pages.seen(f"name{n}") for n in range(1000)) <= 11

    readings = SharedReadings(for_s=60, limit=3)

    def fails():
        raise LookupError

    with pytest.raises(LookupError):
        readings.get(0, fails)  # the error of a failed read is not shared
    assert readings.get(0, lambda: "read") == "read"
    for number in range(50):
        readings.get(number, lambda: "read")

    assert len(readings._entries) <= 3
