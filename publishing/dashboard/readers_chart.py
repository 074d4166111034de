"""A line of readers over the issues as SVG paths, 1000 wide and 100 high. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

WIDTH, HEIGHT = 1000.0, 100.0
# No more dates than fit below it on a phone.
MOST_LABELS = 4
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Point:
    """The readers at one date, or “now”; `time` is given if another point has the same date."""

    when: str
    readers: int
    time: str = ""

    @property
    def moment(self) -> str:
        """The date, with the time if another point has the same date."""
        return f"{self.when} at {self.time}" if self.time else self.when

    @property
    def at(self) -> str:
        """The moment within a sentence."""
        return self.when if self.when == "now" else f"on {self.moment}"


def chart_of(points: Sequence[Point]) -> dict[str, Any] | None:
    """What `readers_chart.html` draws of these points, oldest first; None of fewer than two."""
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
    """The narrowest round scale of these numbers: low, middle and high, none below zero."""
    least, most = min(numbers), max(numbers)
    # A flat line is in the middle, unless it is the ground.
    step, low = 1, max(0, least - 1) if least == most else least
    while low + 2 * step < most:
        step = _next_round(step)
        low = least // step * step
    return low, low + step, low + 2 * step


def _change(points: Sequence[Point]) -> str:
    """How the last number differs from the one before and the first, or since when it does not."""
    last, before, first = points[-1], points[-2], points[0]
    same = list(takewhile(lambda point: point.readers == last.readers, reversed(points[:-1])))
    since = same[-1] if same else before
    change = f"{_than(last.readers - before.readers)} {before.at}"
    if same:
        change = f"no change since {since.moment}"
    if first.moment != since.moment:
        change += f", {_than(last.readers - first.readers)} {first.at}"
    return f"{change[0].upper()}{change[1:]}."


def _next_round(step: int) -> int:
    """The next of 1, 2, 5, 10, 20, 25, 50, 100 … that is whole."""
    tens = 10.0 ** math.floor(math.log10(step))
    return next(
        int(factor * tens)
        for factor in _ROUND
        if factor * tens > step and (factor * tens).is_integer()
    )


def _than(difference: int) -> str:
    if not difference:
        return "as many as"
    return f"{abs(difference):,} {'more' if difference > 0 else 'fewer'} than"


def _labels(points: Sequence[Point]) -> tuple[str, ...]:
    """The dates of some points, evenly spaced if possible. A repeated date is empty."""
    last = len(points) - 1
    most = min(MOST_LABELS, len(points))
    fits = next((count for count in range(most, 2, -1) if not last % (count - 1)), 2)
    dates = [points[number * last // (fits - 1)].when for number in range(fits)]
    return tuple("" if date in dates[:place] else date for place, date in enumerate(dates))


def _words(points: Sequence[Point]) -> str:
    first, last = points[0], points[-1]
    if first.readers == last.readers:
        return f"Confirmed readers: {first.readers:,} {first.at}, and as many {last.at}"
    went = "rose" if last.readers > first.readers else "fell"
    change = f"from {first.readers:,} {first.at} to {last.readers:,} {last.at}"
    return f"Confirmed readers {went} {change}"
