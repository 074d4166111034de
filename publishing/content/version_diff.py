"""
Where two versions of a letter differ, in words short enough for a table. Pure.

It shows the first place and says how long each side is: enough for an author to know their text
again, which is all it is for.
"""

from __future__ import annotations

from dataclasses import dataclass

from publishing.content.edition_content import Content

# Characters shown before, inside and after the place that differs.
BEFORE, INSIDE, AFTER = 32, 72, 16


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One side of a difference: what both have, what only this one has, what both have again."""

    before: str
    own: str
    after: str
    length: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One field on both sides; the excerpts are None if it is the same."""

    field: str
    earlier: Excerpt | None
    now: Excerpt | None


def compare(earlier: Content, now: Content) -> list[Comparison]:
    """
    What stands in the fields of both, in the order of the form.

    The preheader, which most letters do without, only where there is one.
    """
    preheaders = [("Preheader", earlier.preheader, now.preheader)]
    pairs = (
        ("Title", earlier.title, now.title),
        *(preheaders if earlier.preheader or now.preheader else []),
        ("HTML", earlier.html, now.html),
        ("Text", earlier.text, now.text),
    )
    return [_comparison(field, one, other) for field, one, other in pairs]


def _comparison(field: str, one: str, other: str) -> Comparison:
    if one == other:
        return Comparison(field, None, None)
    shorter = min(len(one), len(other))
    start = _shared(one, other, shorter)
    end = _shared(one[::-1], other[::-1], shorter - start)
    # Whole words read better than the letters in which two words differ.
    while start and one[start - 1].isalnum():
        start -= 1
    while end and one[len(one) - end].isalnum():
        end -= 1
    return Comparison(field, _excerpt(one, start, end), _excerpt(other, start, end))


def _shared(one: str, other: str, most: int) -> int:
    """How many characters the beginnings have in common; at most `most`."""
    low, high = 0, most
    while low < high:  # slices are compared in C: quicker by far than character by character
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _excerpt(side: str, start: int, end: int) -> Excerpt:
    stop = len(side) - end
    own = side[start:stop]
    return Excerpt(
        before=("…" if start > BEFORE else "") + side[max(0, start - BEFORE) : start],
        own=own if len(own) <= INSIDE else f"{own[:INSIDE]}…",
        after="" if len(own) > INSIDE else side[stop : stop + AFTER] + ("…" * (end > AFTER)),
        length=len(side),
    )
