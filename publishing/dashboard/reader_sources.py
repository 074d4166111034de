"""Where the new readers of the last months came from. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.formats import date_format
from django.utils.translation import gettext_lazy

from publishing.progress_bar import Part, parts_of

MONTHS = 12
_LABELS = {
    "form": gettext_lazy("Form on this site"),
    "archive": gettext_lazy("Form below a letter"),
    "embedded form": gettext_lazy("Form on another site"),
    "import": gettext_lazy("Import"),
    "api": gettext_lazy("API"),
    "desk": gettext_lazy("Added on the desk"),
}
# A sign-up whose form is not known any more.
_SAME_AS = {"sign-up": "form"}


@dataclass(frozen=True, slots=True)
class SourceTable:
    """New readers by source and month."""

    # Each source with its number in all months, and a bar.
    totals: Sequence[tuple[str, int, Sequence[Part]]]
    sources: Sequence[str]
    # The newest first, with a number for each source.
    months: Sequence[tuple[str, Sequence[int]]]


def first_month(today: date) -> date:
    """Return the first of the months that are shown."""
    month = today.year * 12 + today.month - MONTHS
    return date(month // 12, month % 12 + 1, 1)


def source_table(new_readers: Mapping[tuple[date, str], int]) -> SourceTable | None:
    """Return the table, the largest source first; None without new readers."""
    numbers: dict[tuple[date, str], int] = {}
    for (month, source), number in new_readers.items():
        key = month, _SAME_AS.get(source, source)
        numbers[key] = numbers.get(key, 0) + number
    if not numbers:
        return None
    totals = {name: sum(n for (_, one), n in numbers.items() if one == name) for name in _LABELS}
    shown = sorted((name for name in _LABELS if totals[name]), key=lambda name: -totals[name])
    most = max(totals.values())
    months = sorted({month for month, _ in numbers}, reverse=True)
    return SourceTable(
        totals=[
            (str(_LABELS[name]), totals[name], parts_of({"sent": totals[name]}, whole=most))
            for name in shown
        ],
        sources=[str(_LABELS[name]) for name in shown],
        months=[
            (date_format(month, "M Y"), [numbers.get((month, name), 0) for name in shown])
            for month in months
        ],
    )
