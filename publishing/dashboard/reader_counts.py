"""The numbers of readers over time, from issues that were mailed."""

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.models import Edition
from delivery.rules.edition_counts import EditionCounts
from publishing.content.edition_content import plain_title
from publishing.dashboard.readers_chart import Point
from publishing.editions.versions import mailed_issues
from publishing.progress_bar import outcome_label, parts_of

ISSUES, STRIPS = 12, 6
NOT_SENT = ("suppressed", "withdrawn", "failed")


def newest_mailed() -> list[Any]:
    """Return the newest of the `mailed_issues()`, oldest first."""
    newest = mailed_issues().only("published_at", "audience", "control", "title", "version")
    return list(newest[:ISSUES])[::-1]


def points_of(mailed: Sequence[Any], confirmed_now: int, zone: ZoneInfo) -> list[Point]:
    """Return the confirmed readers at each issue that has their number, and now."""
    points = [
        Point(_day(edition, zone), edition.confirmed_then)
        for edition in mailed
        if edition.confirmed_then is not None
    ]
    return [*points, Point("", confirmed_now)] if points else []


def ended_among(editions: Sequence[Edition], open_editions: Sequence[int]) -> list[Edition]:
    """Return the newest few that were sent and have ended, whose counts are final."""
    return [
        edition
        for edition in reversed(editions)
        if edition.audience and edition.pk not in set(open_editions)
    ][:STRIPS]


def undelivered_of(
    editions: Sequence[Edition], counts: Mapping[int, EditionCounts], zone: ZoneInfo
) -> list[dict[str, Any]]:
    """Return the unsent copies of each edition, on one scale.

    Called-back ones are left out.
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
            "label": ", ".join(
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
