"""Draw a line chart of readers over time as SVG paths, 1000 wide and 100 high."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.humanise import digits

WIDTH, HEIGHT = 1000.0, 100.0
# This number of dates fits below the chart on a phone.
MOST_LABELS = 4
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Point:
    """The number of readers at a date. `when` is empty for the current number."""

    when: str
    readers: int

    @property
    def date(self) -> str:
        """The date as a label of the chart."""
        return self.when or _("now")


def chart_of(points: Sequence[Point]) -> dict[str, Any] | None:
    """Return the context of `readers_chart.html`. The oldest point must be first.

    Return None if there are fewer than two points.
    """
    if len(points) < 2:
        return None
    scale = scale_of([point.readers for point in points])
    step = WIDTH / (len(points) - 1)
    low, _, high = scale
    places = [
        f"{number * step:.1f} {HEIGHT * (high - point.readers) / (high - low):.1f}"
        for number, point in enumerate(points)
    ]
    line = "M" + " L".join(places)
    return {
        "scale": scale,
        "line": line,
        "area": f"{line} V{HEIGHT:.0f} H0z",
        "dots": [f"M{place}h0" for place in places],
        "labels": _labels(points),
        "words": _words(points),
        "change": _change(points),
    }


def scale_of(numbers: Sequence[int]) -> tuple[int, int, int]:
    """Return the three numbers of the chart's scale: low, middle and high.

    The numbers are round and at least zero, and the scale is as narrow as possible.
    """
    least, most = min(numbers), max(numbers)
    # If all numbers are equal, draw the line in the middle, or at the bottom if they are zero.
    step, low = 1, max(0, least - 1) if least == most else least
    while low + 2 * step < most:
        step = _next_round(step)
        low = least // step * step
    return low, low + step, low + 2 * step


def _change(points: Sequence[Point]) -> str:
    """Compare the last number with the previous and the first number."""
    last, before, first = points[-1], points[-2], points[0]
    same = list(takewhile(lambda point: point.readers == last.readers, reversed(points[:-1])))
    since = same[-1] if same else before
    if same:
        change = _("No change since {date}.").format(date=since.date)
    else:
        change = _than(last.readers - before.readers, before)
    if first.date != since.date:
        change += f" {_than(last.readers - first.readers, first)}"
    return change


def _next_round(step: int) -> int:
    """Return the next whole number of the series 1, 2, 5, 10, 20, 25, 50, 100."""
    tens = 10.0 ** math.floor(math.log10(step))
    return next(
        int(factor * tens)
        for factor in _ROUND
        if factor * tens > step and (factor * tens).is_integer()
    )


def _than(difference: int, point: Point) -> str:
    number = abs(difference)
    if not difference:
        text = _("As many as on {date}.")
    elif difference > 0:
        text = ngettext("{n} more than on {date}.", "{n} more than on {date}.", number)
    else:
        text = ngettext("{n} fewer than on {date}.", "{n} fewer than on {date}.", number)
    return text.format(n=digits(number), date=point.date)


def _labels(points: Sequence[Point]) -> tuple[str, ...]:
    """Return the dates of some points, evenly spaced if possible.

    If two of these dates are equal, the later label is empty.
    """
    last = len(points) - 1
    most = min(MOST_LABELS, len(points))
    fits = next((count for count in range(most, 2, -1) if not last % (count - 1)), 2)
    dates = [points[number * last // (fits - 1)].date for number in range(fits)]
    return tuple("" if date in dates[:place] else date for place, date in enumerate(dates))


def _words(points: Sequence[Point]) -> str:
    first, last = points[0], points[-1]
    if last.when:
        text = _("Confirmed readers: {before} on {first}, {after} on {last}")
    else:
        text = _("Confirmed readers: {before} on {first}, {after} now")
    return text.format(
        before=digits(first.readers),
        first=first.date,
        after=digits(last.readers),
        last=last.date,
    )
