"""Reconciling: proof that mail is absent, obstacles, and searches in parts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.postmark.search_windows import (
    MIN_WINDOW,
    Window,
    span_around,
    split_window,
    to_eastern,
)
from delivery.reconcile.reconcile_round import (
    Obstacle,
    RecipientSet,
    SearchCoverage,
    find_obstacle,
)

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def silence(**changes: Any) -> SearchCoverage:
    values: dict[str, Any] = {
        "walked_at": NOW,
        "last_lookup_after_s": 900.0,
        "retention_days": 45,
        "shows_later_mail": True,
        "last_accepted_at": NOW - 20 * MINUTE,
        "newest_shown_at": None,
    }
    return SearchCoverage(**values | changes)


def test_absence_counts_between_last_look_up_and_retention() -> None:
    assert silence().counts_for(NOW - 15 * MINUTE)
    assert not silence().counts_for(NOW - 14 * MINUTE)
    assert silence().counts_for(NOW - timedelta(days=44))
    assert not silence().counts_for(NOW - timedelta(days=44) - MINUTE)


@pytest.mark.parametrize(
    ("age", "is_shown", "is_early"),
    [
        (14 * MINUTE, True, True),
        (15 * MINUTE, True, False),
        (30 * MINUTE, False, True),
        (timedelta(days=45), True, False),
    ],
    ids=["fresh", "judged", "the search lags", "no longer has a record"],
)
def test_copies_that_may_still_appear_are_too_early_to_judge(
    age: timedelta, is_shown: bool, is_early: bool
) -> None:
    assert silence(shows_later_mail=is_shown).is_too_early_for(NOW - age) is is_early


def test_absence_proves_nothing_while_the_search_lags() -> None:
    lagging = silence(shows_later_mail=False)
    assert not lagging.counts_for(NOW - 30 * MINUTE)
    assert lagging.counts_for(NOW - 20 * MINUTE)


def test_absence_counts_once_the_search_shows_newer_mail() -> None:
    lagging = silence(shows_later_mail=False, newest_shown_at=NOW - 25 * MINUTE)
    assert lagging.counts_for(NOW - 30 * MINUTE)
    assert not lagging.counts_for(NOW - 25 * MINUTE)


def test_without_later_mail_an_empty_search_counts_after_some_time() -> None:
    assert silence(shows_later_mail=False, last_accepted_at=None).counts_for(NOW - 16 * MINUTE)


def obstacle(coverage: dict[str, Any] | None = None, **changes: Any) -> Obstacle | None:
    values: dict[str, Any] = {
        "was_all_shown": True,
        "reconcilable_at": NOW - 13 * MINUTE,
        "backup_not_before": NOW - timedelta(days=2),
    }
    return find_obstacle(silence(**coverage or {}), **values | changes)


def test_complete_reliable_walk_reconciles_an_edition() -> None:
    assert obstacle() is None


@pytest.mark.parametrize(
    ("change", "words", "is_worth_waiting_for"),
    [
        ({"was_all_shown": False}, "fewer messages", True),
        ({"coverage": {"shows_later_mail": False}}, "lags", True),
        ({"coverage": {"walked_at": NOW - 14 * MINUTE}}, "11:47:00 UTC", True),
        ({"backup_not_before": NOW - timedelta(days=45)}, "no longer has a record", False),
    ],
)
def test_an_obstacle_is_named(
    change: dict[str, Any], words: str, is_worth_waiting_for: bool
) -> None:
    found = obstacle(**change)
    assert found is not None
    assert words in found.sentence(UUID(int=1), NOW - 13 * MINUTE)
    assert found.is_worth_waiting_for is is_worth_waiting_for


@given(st.lists(st.integers(1, 10**12)), st.lists(st.integers(1, 10**12)))
def test_a_set_contains_exactly_the_recipients_added(seen: list[int], others: list[int]) -> None:
    remembered = RecipientSet()
    news = [remembered.add(recipient) for recipient in seen]
    assert sum(news) == len(set(seen))
    for recipient in (*seen, *others):
        assert (recipient in remembered) == (recipient in set(seen))


def test_a_million_recipients_need_little_memory() -> None:
    remembered = RecipientSet()
    for recipient in range(1_000_000):
        remembered.add(recipient)
    assert sum(bits.bit_length() // 8 for bits in remembered._chunks.values()) < 130_000


# Eastern wall-clock time, without a zone.
wall = datetime.fromisoformat
SPAN = (wall("2026-05-01"), wall("2026-05-09"))
MOMENTS = st.datetimes(wall("2024-01-01"), wall("2028-01-01")).map(
    lambda at: at.replace(microsecond=0)
)


def test_postmark_is_asked_in_eastern_time_summer_and_winter() -> None:
    assert to_eastern(datetime(2026, 7, 1, 12, tzinfo=UTC)) == wall("2026-07-01T08:00:00")
    assert to_eastern(datetime(2026, 1, 1, 12, tzinfo=UTC)) == wall("2026-01-01T07:00:00")


def test_a_query_has_only_the_borders_of_its_window() -> None:
    window = Window(wall("2026-05-04T10:15:22"), None)
    assert window.query() == {"fromdate": "2026-05-04T10:15:22"}
    assert Window().query() == {}
    assert Window(None, wall("2026-05-04")).query() == {"todate": "2026-05-04T00:00:00"}


def test_the_span_has_an_extra_day_on_either_side() -> None:
    first, last = datetime(2026, 5, 2, 4, tzinfo=UTC), datetime(2026, 5, 8, 4, tzinfo=UTC)
    assert span_around(first, last) == SPAN


def test_halves_of_an_open_window_stay_open() -> None:
    middle = wall("2026-05-05")
    assert split_window(Window(), SPAN) == (Window(None, middle), Window(middle, None))


def test_a_window_of_one_second_cannot_be_split() -> None:
    at = wall("2026-05-05")
    assert split_window(Window(at, at + MIN_WINDOW), SPAN) is None
    assert split_window(Window(at, at), SPAN) is None


def test_no_window_ends_within_the_repeated_hour() -> None:
    # 1 November 2026: at 2:00 daylight time the clock goes back to 1:00.
    day = wall("2026-11-01")
    parts = split_window(Window(day, day + timedelta(hours=3)), SPAN)
    assert parts == (
        Window(day, day + timedelta(hours=2)),
        Window(day + timedelta(hours=1), day + timedelta(hours=3)),
    )


@pytest.mark.parametrize("day", [wall("2026-03-08"), wall("2026-06-01")])
def test_windows_split_in_other_hours_share_one_border(day: datetime) -> None:
    middle = day + timedelta(hours=1, minutes=30)
    parts = split_window(Window(day, day + timedelta(hours=3)), SPAN)
    assert parts == (Window(day, middle), Window(middle, day + timedelta(hours=3)))


@given(MOMENTS, st.integers(2, 40 * 86_400))
def test_halves_leave_no_gap_and_each_is_shorter(since: datetime, seconds: int) -> None:
    until = since + timedelta(seconds=seconds)
    parts = split_window(Window(since, until), SPAN)
    assert parts is not None
    earlier, later = parts
    assert earlier.since == since
    assert later.until == until
    assert earlier.until is not None
    assert later.since is not None
    assert since < later.since <= earlier.until < until
