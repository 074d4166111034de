"""
Slices of time for a search that has more than can be paged through.

Pure. Postmark reads `fromdate` and `todate` as US Eastern time, both inclusive, to the second
(Postmark's API documentation, “Messages API”). An hour in autumn happens twice there and cannot be
named exactly, so that no slice is trusted: neighbours share their border, and whoever walks them
counts what they showed against what the whole search says it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

EASTERN = ZoneInfo("America/New_York")
MIN_WINDOW = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Window:
    """From `since` to `until`, both included, on the Eastern wall clock; None is open."""

    since: datetime | None = None
    until: datetime | None = None

    def query(self) -> dict[str, str]:
        """The window as parameters of a search."""
        named = (("fromdate", self.since), ("todate", self.until))
        return {name: f"{at:%Y-%m-%dT%H:%M:%S}" for name, at in named if at is not None}


def to_eastern(at: datetime) -> datetime:
    """A moment as the Eastern wall clock shows it, to the second and without its zone."""
    return at.astimezone(EASTERN).replace(tzinfo=None, microsecond=0)


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a walk cuts up, on the Eastern wall clock."""

    since: datetime
    until: datetime


def span_around(first: datetime, last: datetime) -> Span:
    """From a day before `first` to a day after `last`."""
    day = timedelta(days=1)
    return Span(to_eastern(first.astimezone(UTC) - day), to_eastern(last.astimezone(UTC) + day))


def split_window(window: Window, span: Span) -> tuple[Window, Window] | None:
    """
    The earlier and the later half of a window, or None if it is as short as it can be.

    Where the window is open, `span` says where to think of its end; the outermost halves stay open,
    so that nothing falls outside. Borders never lie in the hour that happens twice: the halves
    then share that whole hour.
    """
    since = window.since or span.since
    until = window.until or span.until
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
    """The hour around `at` that happens twice, or `at` itself."""
    first, second = (at.replace(tzinfo=EASTERN, fold=fold).astimezone(UTC) for fold in (0, 1))
    if second <= first:
        return at, at
    begin = at.replace(minute=0, second=0)
    return begin, begin + (second - first)
