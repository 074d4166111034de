"""Cutting a long search by time, on a clock that shows one hour twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.reconciliation_windows import SHORTEST, Span, Window, eastern, halves, span_of

# The Eastern wall clock: a time of day without a zone.
wall = datetime.fromisoformat
SPAN = Span(wall("2026-05-01"), wall("2026-05-09"))
MOMENTS = st.datetimes(wall("2024-01-01"), wall("2028-01-01")).map(
    lambda at: at.replace(microsecond=0)
)


def test_postmark_is_asked_in_eastern_time_summer_and_winter() -> None:
    assert eastern(datetime(2026, 7, 1, 12, tzinfo=UTC)) == wall("2026-07-01T08:00:00")
    assert eastern(datetime(2026, 1, 1, 12, tzinfo=UTC)) == wall("2026-01-01T07:00:00")


def test_a_window_names_its_borders_and_an_open_one_none() -> None:
    window = Window(wall("2026-05-04T10:15:22"), None)
    assert window.query() == {"fromdate": "2026-05-04T10:15:22"}
    assert Window().query() == {}
    assert Window(None, wall("2026-05-04")).query() == {"todate": "2026-05-04T00:00:00"}


def test_the_span_has_a_day_to_spare_on_either_side() -> None:
    first, last = datetime(2026, 5, 2, 4, tzinfo=UTC), datetime(2026, 5, 8, 4, tzinfo=UTC)
    assert span_of(first, last) == SPAN


def test_the_outermost_halves_stay_open_so_that_nothing_falls_outside() -> None:
    middle = wall("2026-05-05")
    assert halves(Window(), SPAN) == (Window(None, middle), Window(middle, None))


def test_a_second_cannot_be_cut() -> None:
    at = wall("2026-05-05")
    assert halves(Window(at, at + SHORTEST), SPAN) is None
    assert halves(Window(at, at), SPAN) is None


def test_no_border_lies_in_the_hour_that_happens_twice() -> None:
    # 1 November 2026: at 2:00 daylight time the clock goes back to 1:00.
    day = wall("2026-11-01")
    parts = halves(Window(day, day + timedelta(hours=3)), SPAN)
    assert parts == (
        Window(day, day + timedelta(hours=2)),
        Window(day + timedelta(hours=1), day + timedelta(hours=3)),
    )


@pytest.mark.parametrize("day", [wall("2026-03-08"), wall("2026-06-01")])
def test_an_hour_that_happens_once_or_never_needs_no_more_than_a_common_border(
    day: datetime,
) -> None:
    middle = day + timedelta(hours=1, minutes=30)
    parts = halves(Window(day, day + timedelta(hours=3)), SPAN)
    assert parts == (Window(day, middle), Window(middle, day + timedelta(hours=3)))


@given(MOMENTS, st.integers(2, 40 * 86_400))
def test_halves_leave_no_gap_and_each_is_shorter(since: datetime, seconds: int) -> None:
    until = since + timedelta(seconds=seconds)
    parts = halves(Window(since, until), SPAN)
    assert parts is not None
    earlier, later = parts
    assert earlier.since == since
    assert later.until == until
    assert earlier.until is not None
    assert later.since is not None
    assert since < later.since <= earlier.until < until
