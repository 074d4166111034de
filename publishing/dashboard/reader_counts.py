"""Count the readers at each mailed issue, and new readers by source and month."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import digits
from delivery.models import Edition
from delivery.rules.edition_counts import EditionCounts
from publishing.content.edition_content import plain_title
from publishing.dashboard.readers_chart import Point
from publishing.editions.versions import mailed_issues
from publishing.progress_bar import Part, outcome_label, parts_of

ISSUES, STRIPS = 12, 6
NOT_SENT = ("suppressed", "withdrawn", "failed")
MONTHS = 12
_LABELS = {
    "form": gettext_lazy("Form on this site"),
    "archive": gettext_lazy("Form below a letter"),
    "embedded form": gettext_lazy("Form on another site"),
    "import": gettext_lazy("Import"),
    "api": gettext_lazy("API"),
    "desk": gettext_lazy("Added on the desk"),
}
# Sign-ups in earlier releases did not record which form was used. Sign-ups without a recorded form
# count as sign-ups with the form on this site.
_SAME_AS = {"sign-up": "form"}


def newest_mailed() -> list[Any]:
    """Return the last few `mailed_issues()`, with the oldest of them first."""
    newest = mailed_issues().only("published_at", "audience", "control", "title", "version")
    return list(newest[:ISSUES])[::-1]


def points_of(mailed: Sequence[Any], confirmed_now: int, zone: ZoneInfo) -> list[Point]:
    """Return the number of confirmed readers at the time of each issue, and now.

    Issues without a recorded number are left out.
    """
    points = [
        Point(_day(edition, zone), edition.confirmed_then)
        for edition in mailed
        if edition.confirmed_then is not None
    ]
    return [*points, Point("", confirmed_now)] if points else []


def ended_among(editions: Sequence[Edition], open_editions: Sequence[int]) -> list[Edition]:
    """Return the newest editions that were sent and have ended, with final counts."""
    return [
        edition
        for edition in reversed(editions)
        if edition.audience and edition.pk not in set(open_editions)
    ][:STRIPS]


def undelivered_of(
    editions: Sequence[Edition], counts: Mapping[int, EditionCounts], zone: ZoneInfo
) -> list[dict[str, Any]]:
    """Return a bar for each edition with unsent copies; all bars have the same scale.

    Copies of editions that were called back are left out.
    """
    unsent = {
        edition.pk: {outcome: getattr(counts[edition.pk], outcome) for outcome in NOT_SENT}
        for edition in editions
        if not counts[edition.pk].is_called_back
    }
    longest = max((sum(one.values()) for one in unsent.values()), default=0)
    return [
        {
            "when": _day(edition, zone),
            "title": plain_title(edition),
            "audience": counts[edition.pk].audience,
            "counts": unsent[edition.pk],
            "label": f"{plain_title(edition)}, {_day(edition, zone)}: "
            + ", ".join(
                f"{outcome_label(name)} {digits(count)}"
                for name, count in unsent[edition.pk].items()
            ),
            "total": sum(unsent[edition.pk].values()),
            "bar": parts_of(unsent[edition.pk], whole=longest),
        }
        for edition in editions
        if edition.pk in unsent
    ]


def _day(edition: Edition, zone: ZoneInfo) -> str:
    at = edition.published_at.astimezone(zone)
    return date_format(at, _("j M"))


@dataclass(frozen=True, slots=True)
class SourceTable:
    """New readers by source and month."""

    # For each source: its label, its number of readers in all months, and a bar.
    totals: Sequence[tuple[str, int, Sequence[Part]]]
    sources: Sequence[str]
    # For each month, the newest first: its label, and a number for each source.
    months: Sequence[tuple[str, Sequence[int]]]


def first_month(today: date) -> date:
    """Return the first day of the first month that is shown."""
    month = today.year * 12 + today.month - MONTHS
    return date(month // 12, month % 12 + 1, 1)


def source_table(new_readers: Mapping[tuple[date, str], int]) -> SourceTable | None:
    """Return the table, with the largest source first; None without new readers."""
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
