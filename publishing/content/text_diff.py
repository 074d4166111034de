"""Compare two versions of a letter by field and by line."""

import difflib
from collections.abc import Mapping
from itertools import starmap, zip_longest
from typing import NamedTuple

# The number of equal lines that are shown before and after a difference.
CONTEXT = 2
# Longer texts are shown as one difference, because the time of a comparison grows with the product
# of both line counts.
MOST_LINES = 2000


class LinePair(NamedTuple):
    """One row of a comparison: the line of each side; None where a side has no line."""

    other: str | None
    mine: str | None


def diff_fields(
    other: Mapping[str, str], mine: Mapping[str, str]
) -> dict[str, list[LinePair | None]]:
    """Return the rows of lines of each field that differs; None marks omitted lines."""
    return {
        name: diff_lines(text, mine[name]) for name, text in other.items() if text != mine[name]
    }


def diff_lines(other: str, mine: str) -> list[LinePair | None]:
    """Return the lines of both texts; omit equal lines far from any difference."""
    one, two = other.split("\n"), mine.split("\n")
    if max(len(one), len(two)) > MOST_LINES:
        return list(starmap(LinePair, zip_longest(one, two)))
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    rows: list[LinePair | None] = []
    end = 0
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if group[0][1] > end:
            rows.append(None)
        for _tag, start, end, begin, stop in group:
            rows += starmap(LinePair, zip_longest(one[start:end], two[begin:stop]))
    if end < len(one):
        rows.append(None)
    return rows
