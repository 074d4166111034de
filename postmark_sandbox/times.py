"""Times as Postmark writes and reads them.

Postmark writes seven fractional digits, and reads `fromdate` and `todate` as US Eastern time. The
Eastern rule is written out here, so that the sandbox needs no time zone files.
"""

import time
from datetime import UTC, datetime, timedelta, timezone

STANDARD = timezone(timedelta(hours=-5))
DAYLIGHT = timezone(timedelta(hours=-4))
NS_PER_SECOND = 1_000_000_000


def now_ns() -> int:
    return time.time_ns()


def utc_text(at_ns: int) -> str:
    """`2026-05-04T14:15:22.9870001Z`."""
    seconds, rest = divmod(at_ns, NS_PER_SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 100:07d}Z"


def eastern_text(at_ns: int) -> str:
    """`2026-05-04T10:15:22.9870001-04:00`."""
    seconds, rest = divmod(at_ns, NS_PER_SECOND)
    moment = datetime.fromtimestamp(seconds, UTC)
    zone = eastern_zone(moment)
    offset = "-04:00" if zone is DAYLIGHT else "-05:00"
    return f"{moment.astimezone(zone):%Y-%m-%dT%H:%M:%S}.{rest // 100:07d}{offset}"


def clock_text(at_ns: int) -> str:
    """`07:15:34` in the zone of this machine."""
    return time.strftime("%H:%M:%S", time.localtime(at_ns // NS_PER_SECOND))


def day_text(at_ns: int) -> str:
    """`17 Sep 2026, 07:15:34` in the zone of this machine."""
    local = time.localtime(at_ns // NS_PER_SECOND)
    return f"{local.tm_mday} {time.strftime('%b %Y, %H:%M:%S', local)}"


def eastern_zone(moment: datetime) -> timezone:
    """Daylight time runs from the second Sunday of March, 2:00 standard time, to the first Sunday
    of November, 2:00 daylight time (rule since 2007)."""
    begins = _sunday(moment.year, 3, 2).replace(hour=7)
    ends = _sunday(moment.year, 11, 1).replace(hour=6)
    return DAYLIGHT if begins <= moment < ends else STANDARD


def read_eastern(text: str, *, end_of_day: bool) -> int | None:
    """Return a `fromdate` or `todate` as nanoseconds since 1970, or None if it is not a date.

    `YYYY-MM-DD` means the first or the last instant of that day. A time without an offset is
    Eastern time.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if found.tzinfo is None:
        # Read as standard time first: close enough to tell which of the two offsets applies.
        found = found.replace(tzinfo=eastern_zone(found.replace(tzinfo=STANDARD)))
    if len(text.strip()) == len("2026-05-04") and end_of_day:
        found += timedelta(days=1)
        return int(found.timestamp()) * NS_PER_SECOND - 1
    last = NS_PER_SECOND - 1 if end_of_day and found.microsecond == 0 else 0
    return int(found.timestamp() * 1_000_000) * 1000 + last


def _sunday(year: int, month: int, which: int) -> datetime:
    first = datetime(year, month, 1, tzinfo=UTC)
    return first + timedelta(days=(6 - first.weekday()) % 7 + 7 * (which - 1))
