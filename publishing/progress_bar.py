"""The bar over a ledger: how wide each outcome is drawn. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

# Outcomes have this order on every page.
ORDER = ("sent", "unknown", "failed", "suppressed", "withdrawn", "waiting")
# Per cent, so that 3 failed of 52,418 can be seen. The exact numbers are in the ledger.
NARROWEST = 0.8


@dataclass(frozen=True, slots=True)
class Part:
    """One outcome of a bar; `x` and `width` are attributes of a rect, such as 75.94%."""

    outcome: str
    x: str
    width: str


def parts_of(counts: Mapping[str, int], *, whole: int | None = None) -> list[Part]:
    """A bar's parts in the order of the counts. None but zero is narrower than `NARROWEST`."""
    total = sum(counts.values()) if whole is None else whole
    widths = {
        outcome: max(NARROWEST, 100 * count / total) if count else 0.0
        for outcome, count in counts.items()
    }
    over = sum(widths.values()) - 100
    if total and (over > 0 or whole is None):
        widths[max(counts, key=lambda outcome: counts[outcome])] -= over
    parts, x = [], 0.0
    for outcome, width in widths.items():
        parts.append(Part(outcome, f"{x:.2f}%", f"{width:.2f}%"))
        x += width
    return parts


def label_of(counts: Mapping[str, int], audience: int) -> str:
    """The bar in words, for those who do not see it; what is zero is left out."""
    counted = [f"{outcome} {counts[outcome]:,}" for outcome in ORDER if counts[outcome]]
    return f"{', '.join(counted) or 'nobody'}; audience {audience:,}"
