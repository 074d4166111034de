"""Two wordings of one draft, line beside line, with the lines marked that differ. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from delivery.rules.edition_counts import AUDIENCE_WORDS
from publishing.content.draft_content import HTML
from publishing.drafts.drafts import DraftFields

# Lines that both have are shown as far as this around one that differs.
CONTEXT = 2
# Comparing costs the product of the lines; longer stretches are shown as one that differs.
MOST_LINES = 2000


@dataclass(frozen=True, slots=True)
class Line:
    """One row: what stands here on either side; None where that side has no such line."""

    other: str | None
    mine: str | None

    @property
    def differs(self) -> bool:
        """Whether this is what the page is about."""
        return self.other != self.mine


@dataclass(frozen=True, slots=True)
class Part:
    """One field that is not the same on both sides. A row of None stands for lines left out."""

    name: str
    lines: list[Line | None]


def compared(other: DraftFields, mine: DraftFields) -> list[Part]:
    """The fields that differ, in the order of the form."""
    pairs = (
        ("Title", other.written.title, mine.written.title),
        ("Preheader", other.written.preheader, mine.written.preheader),
        ("Written in", _format(other), _format(mine)),
        ("Letter", other.written.letter, mine.written.letter),
        ("Text part", *(_text_part(side) for side in (other, mine))),
        ("Goes to", AUDIENCE_WORDS[other.goes_to], AUDIENCE_WORDS[mine.goes_to]),
        ("Listing", *("unlisted" if side.unlisted else "listed" for side in (other, mine))),
    )
    return [Part(name, lines_of(one, two)) for name, one, two in pairs if one != two]


def lines_of(other: str, mine: str) -> list[Line | None]:
    """The lines of both, those that agree far from any difference left out."""
    one, two = other.split("\n"), mine.split("\n")
    rows: list[Line | None] = []
    blocks = _blocks(one, two)
    for number, (same, left, right) in enumerate(blocks):
        if not same:
            rows += _side_by_side(left, right)
            continue
        first, last = number == 0, number == len(blocks) - 1
        head = [] if first else left[:CONTEXT]
        tail = [] if last else left[max(len(head), len(left) - CONTEXT) :]
        rows += [Line(line, line) for line in head]
        if len(head) + len(tail) < len(left):
            rows.append(None)
        rows += [Line(line, line) for line in tail]
    return rows


def _blocks(one: list[str], two: list[str]) -> list[tuple[bool, list[str], list[str]]]:
    if max(len(one), len(two)) > MOST_LINES:
        return [(False, one, two)]
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    return [
        (tag == "equal", one[start:end], two[begin:stop])
        for tag, start, end, begin, stop in matcher.get_opcodes()
    ]


def _side_by_side(left: Sequence[str], right: Sequence[str]) -> list[Line | None]:
    longest = max(len(left), len(right))
    return [
        Line(
            left[row] if row < len(left) else None,
            right[row] if row < len(right) else None,
        )
        for row in range(longest)
    ]


def _format(wording: DraftFields) -> str:
    return "HTML" if wording.written.format == HTML else "Markdown"


def _text_part(wording: DraftFields) -> str:
    return wording.written.text or "made from the letter"
