"""Postmark's times: seven decimals of a second, Eastern time with two offsets."""

from datetime import datetime

from postmark_sandbox.times import eastern_text, read_eastern, utc_text


def ns(text: str) -> int:
    """Convert a time with an offset to nanoseconds since 1970."""
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000_000


def test_times_are_written_with_seven_digits() -> None:
    at_ns = ns("2026-05-04T14:15:22+00:00") + 987_000_199
    assert utc_text(at_ns) == "2026-05-04T14:15:22.9870001Z"
    assert eastern_text(at_ns) == "2026-05-04T10:15:22.9870001-04:00"


def test_daylight_time_begins_in_march_and_ends_in_november() -> None:
    for instant, offset in (
        ("2026-03-08T06:59:59+00:00", "-05:00"),
        ("2026-03-08T07:00:00+00:00", "-04:00"),
        ("2026-11-01T05:59:59+00:00", "-04:00"),
        ("2026-11-01T06:00:00+00:00", "-05:00"),
    ):
        assert eastern_text(ns(instant)).endswith(offset), instant


def test_dates_are_read_as_eastern_time() -> None:
    for text, end_of_day, expected in (
        ("2026-05-04", False, ns("2026-05-04T00:00:00-04:00")),
        ("2026-05-04", True, ns("2026-05-05T00:00:00-04:00") - 1),
        ("2026-12-04", False, ns("2026-12-04T00:00:00-05:00")),
        ("2026-05-04T10:00:00", True, ns("2026-05-04T10:00:01-04:00") - 1),
        ("2026-05-04T10:00:00+02:00", False, ns("2026-05-04T08:00:00+00:00")),
    ):
        assert read_eastern(text, end_of_day=end_of_day) == expected
    for text in ("", "yesterday", "2026-02-30", "04.05.2026"):
        assert read_eastern(text, end_of_day=False) is None
