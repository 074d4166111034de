"""Times as Postmark writes and reads them.

Postmark writes seven fractional digits, and reads `fromdate` and `todate` as US Eastern time.
"""

import time
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

EASTERN = ZoneInfo("America/New_York")
NS_PER_SECOND = 1_000_000_000


def now_ns() -> int:
    return time.time_ns()


def utc_text(at_ns: int) -> str:
    """Format a time in UTC, such as `2026-05-04T14:15:22.9870001Z`."""
    return _text(at_ns, UTC).replace("+00:00", "Z")


def eastern_text(at_ns: int) -> str:
    """Format a time in US Eastern time, such as `2026-05-04T10:15:22.9870001-04:00`."""
    return _text(at_ns, EASTERN)


def clock_text(at_ns: int) -> str:
    """Format a time in this machine's time zone, such as `07:15:34`."""
    return time.strftime("%H:%M:%S", time.localtime(at_ns // NS_PER_SECOND))


def day_text(at_ns: int) -> str:
    """Format a time in this machine's time zone, such as `17 Sep 2026, 07:15:34`."""
    return time.strftime("%-d %b %Y, %H:%M:%S", time.localtime(at_ns // NS_PER_SECOND))


def read_eastern(text: str, *, end_of_day: bool) -> int | None:
    """Parse a `fromdate` or `todate` into nanoseconds, or return None.

    The nanoseconds are counted from 1970. `YYYY-MM-DD` means the first or the last instant of that
    day.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=EASTERN)
    if len(text.strip()) == len("2026-05-04") and end_of_day:
        found += timedelta(days=1)
        return int(found.timestamp()) * NS_PER_SECOND - 1
    last = NS_PER_SECOND - 1 if end_of_day and found.microsecond == 0 else 0
    return int(found.timestamp() * 1_000_000) * 1000 + last


def _text(at_ns: int, zone: tzinfo) -> str:
    seconds, rest = divmod(at_ns, NS_PER_SECOND)
    text = datetime.fromtimestamp(seconds, zone).isoformat()
    return f"{text[:19]}.{rest // 100:07d}{text[19:]}"
