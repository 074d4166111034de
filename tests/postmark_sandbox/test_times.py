"""Postmark's times: seven digits, and Eastern time with its two offsets."""

from datetime import UTC, datetime

import pytest

from postmark_sandbox.times import eastern_text, eastern_zone, read_eastern, utc_text


def ns(text: str) -> int:
    """Nanoseconds since 1970 of an instant with an offset."""
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000_000


def test_times_are_written_with_seven_digits() -> None:
    at_ns = ns("2026-05-04T14:15:22+00:00") + 987_000_199
    assert utc_text(at_ns) == "2026-05-04T14:15:22.9870001Z"
    assert eastern_text(at_ns) == "2026-05-04T10:15:22.9870001-04:00"


@pytest.mark.parametrize(
    ("instant", "hours"),
    [
        ("2026-03-08T06:59:59+00:00", -5),
        ("2026-03-08T07:00:00+00:00", -4),
        ("2026-11-01T05:59:59+00:00", -4),
        ("2026-11-01T06:00:00+00:00", -5),
        ("2027-03-14T07:00:00+00:00", -4),
        ("2027-11-07T06:00:00+00:00", -5),
        ("2026-01-01T00:00:00+00:00", -5),
        ("2026-07-01T00:00:00+00:00", -4),
    ],
)
def test_daylight_time_begins_in_march_and_ends_in_november(instant: str, hours: int) -> None:
    moment = datetime.fromisoformat(instant).astimezone(UTC)
    offset = eastern_zone(moment).utcoffset(None)
    assert offset is not None
    assert offset.total_seconds() / 3600 == hours


@pytest.mark.parametrize(
    ("text", "end_of_day", "expected"),
    [
        ("2026-05-04", False, ns("2026-05-04T00:00:00-04:00")),
        ("2026-05-04", True, ns("2026-05-05T00:00:00-04:00") - 1),
        ("2026-12-04", False, ns("2026-12-04T00:00:00-05:00")),
        ("2026-05-04T10:00:00", False, ns("2026-05-04T10:00:00-04:00")),
        ("2026-05-04T10:00:00", True, ns("2026-05-04T10:00:01-04:00") - 1),
        ("2026-05-04T10:00:00+02:00", False, ns("2026-05-04T08:00:00+00:00")),
    ],
)
def test_dates_are_read_as_eastern_time(text: str, end_of_day: bool, expected: int) -> None:
    assert read_eastern(text, end_of_day=end_of_day) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "04.05.2026"])
def test_what_is_not_a_date_is_none(text: str) -> None:
    assert read_eastern(text, end_of_day=False) is None
