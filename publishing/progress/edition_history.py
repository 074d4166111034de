"""The history of an edition, the newest first: what people did, and what happened automatically."""

from collections.abc import Iterator
from datetime import datetime
from operator import itemgetter

from django.contrib.admin.models import LogEntry

from delivery.humanise import counted_copies
from delivery.interface import reason_sentence
from delivery.models import Edition
from publishing.activity.activity_sentences import sentence_of
from publishing.display_name import called
from publishing.editions.status import EditionStatus
from publishing.models import Issue

MAX_LINES = 50
# When something happened, and what.
HistoryLine = tuple[datetime, str]


def history_of(edition: Edition, status: EditionStatus) -> list[HistoryLine]:
    """The activity log of this version and its whole issue, and what Homing did."""
    entries = (
        LogEntry.objects.filter(
            content_type__app_label=Issue._meta.app_label,
            content_type__model=Issue._meta.model_name,
            object_id=str(edition.issue_id),
        )
        .select_related("user")
        .order_by("-pk")[: 4 * MAX_LINES]
    )
    people = [
        (entry.action_time, sentence.with_person(called(entry.user)))
        for entry in entries
        for sentence in [sentence_of(entry)]
        if sentence.version in (None, edition.version)
    ]
    lines = [*people, *_automatic(edition, status)]
    return sorted(lines, key=itemgetter(0), reverse=True)[:MAX_LINES]


def _automatic(edition: Edition, status: EditionStatus) -> Iterator[HistoryLine]:
    counts = status.counts
    if counts.now >= counts.held_until > counts.published_at and (counts.sent or counts.unknown):
        yield (counts.held_until, "The hold ended, and the first copies left")
    stopped = edition.control == "stopped" or (
        edition.control == "paused" and edition.control_reason
    )
    if stopped and edition.control_at is not None:
        reason = f"Homing stopped it: {reason_sentence(edition.control_reason)}".strip(".")
        yield edition.control_at, reason
    if counts.unknown_since is not None and counts.unknown:
        yield counts.unknown_since, f"No answer came back about {counted_copies(counts.unknown)}"
