"""Split a search with too many results for its pages into windows of time.

Postmark reads `fromdate` and `todate` as US Eastern time, both inclusive, to the second (API
documentation, “Messages API”). When summer time ends, one hour of this time happens twice, so
adjacent windows share a border.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

EASTERN = ZoneInfo("America/New_York")
MIN_WINDOW = timedelta(seconds=1)

# The time that the windows divide: its start and its end, in Eastern wall-clock time.
Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Window:
    """A window from `since` to `until`, both included, in Eastern time.

    None means no limit.
    """

    since: datetime | None = None
    until: datetime | None = None

    def query(self) -> dict[str, str]:
        """Return the window as parameters of a search."""
        named = (("fromdate", self.since), ("todate", self.until))
        return {name: f"{at:%Y-%m-%dT%H:%M:%S}" for name, at in named if at is not None}


def to_eastern(at: datetime) -> datetime:
    """Convert to Eastern wall-clock time, to the second and without its zone."""
    return at.astimezone(EASTERN).replace(tzinfo=None, microsecond=0)


def span_around(first: datetime, last: datetime) -> Span:
    """Span from a day before `first` to a day after `last`."""
    day = timedelta(days=1)
    return to_eastern(first.astimezone(UTC) - day), to_eastern(last.astimezone(UTC) + day)


def split_window(window: Window, span: Span) -> tuple[Window, Window] | None:
    """Split a window into an earlier and a later half; None if it is too short.

    `span` replaces a missing start or end of the window. If the middle is in the hour that happens
    twice, both halves contain that whole hour.
    """
    since, until = window.since or span[0], window.until or span[1]
    if until - since <= MIN_WINDOW:
        return None
    middle = (since + (until - since) / 2).replace(microsecond=0)
    if middle <= since:
        middle = since + MIN_WINDOW
    begin, end = _repeated_hour(middle)
    if begin <= since or end >= until:
        begin = end = middle
    return Window(window.since, end), Window(begin, window.until)


def _repeated_hour(at: datetime) -> tuple[datetime, datetime]:
    """Return the hour around `at` that happens twice, or `at` itself."""
    first, second = (at.replace(tzinfo=EASTERN, fold=fold).astimezone(UTC) for fold in (0, 1))
    if second <= first:
        return at, at
    begin = at.replace(minute=0, second=0)
    return begin, begin + (second - first)
