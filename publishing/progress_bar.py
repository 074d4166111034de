"""The bar over a ledger: how wide each outcome is drawn. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Outcomes always stand in this order, on every page.
ORDER = ("sent", "unknown", "failed", "suppressed", "withdrawn", "waiting")
# So that 3 failed of 52,418 can be seen. The exact numbers are in the ledger.
NARROWEST = 0.8


@dataclass(frozen=True, slots=True)
class Part:
    """One outcome of a bar; `x` and `width` are attributes of a rect, such as 75.94%."""

    outcome: str
    x: str
    width: str


def parts_of(counts: Mapping[str, int]) -> list[Part]:
    """
    The six parts of a bar, in order. A count of nothing has no width.

    A part that is not zero is at least `NARROWEST` per cent wide; the largest pays for it.
    """
    total = sum(counts[outcome] for outcome in ORDER)
    widths = {
        outcome: max(NARROWEST, 100 * counts[outcome] / total) if counts[outcome] else 0.0
        for outcome in ORDER
    }
    if total:
        widths[max(ORDER, key=lambda outcome: counts[outcome])] -= sum(widths.values()) - 100
    parts, x = [], 0.0
    for outcome in ORDER:
        parts.append(Part(outcome, f"{x:.2f}%", f"{widths[outcome]:.2f}%"))
        x += widths[outcome]
    return parts


def label_of(counts: Mapping[str, int], audience: int) -> str:
    """The bar in words, for those who do not see it; what is zero is left out."""
    counted = [f"{outcome} {counts[outcome]:,}" for outcome in ORDER if counts[outcome]]
    return f"{', '.join(counted) or 'nobody'}; audience {audience:,}"
