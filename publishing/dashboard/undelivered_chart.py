"""
How much of each edition did not go out, as strips on one scale: the longest is the whole. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from publishing.progress_bar import NARROWEST

# In their order in the key below them.
NOT_SENT = ("suppressed", "withdrawn", "failed")


@dataclass(frozen=True, slots=True)
class NotSent:
    """What was not sent of one edition; `when` says which."""

    when: str
    title: str
    audience: int
    suppressed: int
    withdrawn: int
    failed: int

    @property
    def total(self) -> int:
        """How many readers have no copy."""
        return self.suppressed + self.withdrawn + self.failed


@dataclass(frozen=True, slots=True)
class StripPart:
    """A piece of a strip; `x` and `width` are attributes of a rect, such as 75.9%."""

    outcome: str
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Strip:
    """One edition: its pieces, and all of it in words."""

    when: str
    title: str
    total: int
    audience: int
    parts: tuple[StripPart, ...]
    label: str


def strips_of(editions: Sequence[NotSent]) -> list[Strip]:
    """A strip for each edition, in their order. What is not zero can be seen."""
    longest = max((edition.total for edition in editions), default=0)
    return [
        Strip(
            edition.when,
            edition.title,
            edition.total,
            edition.audience,
            tuple(_parts(edition, longest)),
            _label(edition),
        )
        for edition in editions
    ]


def _parts(edition: NotSent, longest: int) -> list[StripPart]:
    counts = {outcome: getattr(edition, outcome) for outcome in NOT_SENT}
    widths = {
        outcome: max(NARROWEST, 100 * count / longest) for outcome, count in counts.items() if count
    }
    over = sum(widths.values()) - 100
    if over > 0:
        widths[max(widths, key=lambda outcome: counts[outcome])] -= over
    parts, x = [], 0.0
    for outcome, width in widths.items():
        parts.append(StripPart(outcome, f"{x:.1f}%", f"{width:.1f}%"))
        x += width
    return parts


def _label(edition: NotSent) -> str:
    counted = [f"{outcome} {getattr(edition, outcome):,}" for outcome in NOT_SENT]
    return f"{edition.when}: {', '.join(counted)}"
