"""Which editions say how many readers there were: the newest that went to everyone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from delivery.models import Edition
from delivery.rules.edition_counts import EditionCounts
from publishing.content.edition_content import plain_title
from publishing.dashboard.readers_chart import Point
from publishing.progress_bar import parts_of

ISSUES, STRIPS = 12, 6
NOT_SENT = ("suppressed", "withdrawn", "failed")


def newest_to_everyone() -> list[Edition]:
    """The newest editions with everybody in their audience, oldest first."""
    editions = (
        Edition.objects.filter(kind=Edition.Kind.NEWSLETTER, goes_to=Edition.GoesTo.EVERYONE)
        .exclude(control=Edition.Control.SCHEDULED)
        # What was called off before its time had nobody in its audience, whoever was confirmed.
        .exclude(control=Edition.Control.CANCELLED, audience=0)
    )
    newest = editions.only("published_at", "audience", "control", "title", "version")
    return list(newest.order_by("-published_at", "-pk")[:ISSUES])[::-1]


def points_of(editions: Sequence[Edition], confirmed_now: int, zone: ZoneInfo) -> list[Point]:
    """How many were confirmed at each of them, and now. Issues of one day have their time."""
    days = Counter(_day(edition, zone) for edition in editions)
    points = [
        Point(
            day := _day(edition, zone),
            edition.audience,
            f"{edition.published_at.astimezone(zone):%H:%M}" if days[day] > 1 else "",
        )
        for edition in editions
    ]
    return [*points, Point("now", confirmed_now)] if points else []


def ended_among(editions: Sequence[Edition], open_editions: Sequence[int]) -> list[Edition]:
    """The newest few that went out and are over, newest first: of these it is known for good."""
    return [
        edition
        for edition in reversed(editions)
        if edition.audience and edition.pk not in set(open_editions)
    ][:STRIPS]


def undelivered_of(
    editions: Sequence[Edition], counts: Mapping[int, EditionCounts], zone: ZoneInfo
) -> list[dict[str, Any]]:
    """The unsent copies of each edition, on one scale. Called-back editions are drafts again."""
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
            "total": sum(unsent[edition.pk].values()),
            "bar": parts_of(unsent[edition.pk], whole=longest),
        }
        for edition in editions
        if edition.pk in unsent
    ]


def _day(edition: Edition, zone: ZoneInfo) -> str:
    at = edition.published_at.astimezone(zone)
    return f"{at.day} {at:%b}"
