"""Outcomes on pages: the labels of outcomes, and the widths of a progress bar."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import digits

# Outcomes have this order on every page.
ORDER = ("sent", "unknown", "failed", "suppressed", "withdrawn", "waiting")
# The smallest width of a part, in per cent of the bar, so that even 3 failed copies of 52,418 are
# visible. The exact numbers are in the table next to the bar.
NARROWEST = 0.8
_LABELS = {
    "sent": gettext_lazy("sent"),
    "unknown": gettext_lazy("unconfirmed"),
    "failed": gettext_lazy("failed"),
    "suppressed": gettext_lazy("suppressed"),
    "withdrawn": gettext_lazy("withdrawn"),
    "waiting": gettext_lazy("waiting"),
    "all": gettext_lazy("all"),
    "missed": gettext_lazy("missed"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One outcome of a bar.

    `x` and `width` are values for attributes of an SVG `rect`, such as 75.94%.
    """

    outcome: str
    x: str
    width: str


def parts_of(counts: Mapping[str, int], *, whole: int | None = None) -> list[Part]:
    """Return the parts in the order of the counts.

    A part is at least `NARROWEST` wide unless its count is zero.
    """
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


def outcome_label(code: str) -> str:
    """Return the label of an outcome or of a list of readers, or else the code."""
    return str(_LABELS.get(code, code))


def label_of(counts: Mapping[str, int], audience: int) -> str:
    """Describe the bar for screen readers; outcomes without copies are left out."""
    texts = [f"{_LABELS[one]}: {digits(counts[one])}" for one in ORDER if counts[one]]
    return ", ".join([*texts, _("audience: {n}").format(n=digits(audience))])
