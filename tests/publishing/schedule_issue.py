"""Helper functions for tests of scheduled issues."""

import uuid
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.contrib.admin.models import LogEntry
from django.db import connection

from delivery.models import Edition
from delivery.rules.scheduled_time import LOCAL, ScheduledTime
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.content.edition_content import Content
from publishing.editions.edition_status import EditionStatus, load_status
from tests.delivery.edition_factory import Newsroom
from tests.publishing.publish_with import publish

LISBON = "Europe/Lisbon"


def scheduled_time_in_zone(utc: datetime, zone: str) -> ScheduledTime:
    """Convert a UTC time to a scheduled time in a zone."""
    return ScheduledTime(utc.astimezone(UTC), f"{utc.astimezone(ZoneInfo(zone)):{LOCAL}}", zone)


def tomorrow(zone: str = LISBON) -> ScheduledTime:
    """Return the time in exactly one day, without seconds."""
    at = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(days=1)
    return scheduled_time_in_zone(at, zone)


def schedule(
    newsroom: Newsroom,
    *,
    at: ScheduledTime | None = None,
    title: str = "Swifts",
    key: str | None = None,
    issue: uuid.UUID | None = None,
    version: int | None = None,
    goes_to: str = "everyone",
) -> Edition:
    """Schedule an edition, by default for tomorrow."""
    return publish(
        newsroom.author.pk,
        key or uuid.uuid4().hex,
        Content.from_input(title=title, html="<p>Dear {{ name|reader }}</p>"),
        hold_s=30,
        issue=issue,
        version=version,
        goes_to=goes_to,
        at=at or tomorrow(),
    ).edition


def make_edition_due(edition: Edition, *, ago_s: float = 1.0) -> None:
    """Set the edition's scheduled time to `ago_s` seconds ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE edition SET (scheduled_for, published_at, held_until) = (SELECT at, at, at "
            "FROM (SELECT clock_timestamp() - make_interval(secs => %s) AS at) AS moment) "
            "WHERE id = %s",
            [ago_s, edition.pk],
        )


def status(edition: Edition) -> EditionStatus:
    return load_status(edition.pk)


def log_of(edition: Edition) -> list[str]:
    """Return the sentences of the issue's audit log, oldest first."""
    entries = LogEntry.objects.filter(object_id=str(edition.issue_id)).order_by("pk")
    return [plain_sentence_of(entry) for entry in entries]
