"""The history of an edition, the newest first: what people did, and what happened automatically."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin.models import LogEntry

from delivery.humanise import counted_copies
from delivery.interface import reason_sentence
from delivery.models import Edition
from publishing.activity.activity_sentences import sentence_of
from publishing.display_name import called
from publishing.editions.status import EditionStatus
from publishing.models import Issue

MOST = 50


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One thing that happened, and when."""

    at: datetime
    words: str


def history_of(edition: Edition, status: EditionStatus, *, most: int = MOST) -> list[HistoryLine]:
    """The activity log of this version and its whole issue, and what Homing did."""
    entries = (
        LogEntry.objects.filter(
            content_type__app_label=Issue._meta.app_label,
            content_type__model=Issue._meta.model_name,
            object_id=str(edition.issue_id),
        )
        .select_related("user")
        .order_by("-pk")[: 4 * most]
    )
    sentences = [(entry, sentence_of(entry)) for entry in entries]
    people = [
        HistoryLine(entry.action_time, sentence.with_person(called(entry.user)))
        for entry, sentence in sentences
        if sentence.version in (None, edition.version)
    ]
    lines = [*people, *_automatic(edition, status)]
    return sorted(lines, key=lambda line: line.at, reverse=True)[:most]


def _automatic(edition: Edition, status: EditionStatus) -> Iterator[HistoryLine]:
    counts = status.counts
    if counts.now >= counts.held_until > counts.published_at and (counts.sent or counts.unknown):
        yield HistoryLine(counts.held_until, "The hold ended, and the first copies left")
    stopped = edition.control == "stopped" or (
        edition.control == "paused" and edition.control_reason
    )
    if stopped and edition.control_at is not None:
        reason = f"Homing stopped it: {reason_sentence(edition.control_reason)}".strip(".")
        yield HistoryLine(edition.control_at, reason)
    if counts.unknown_since is not None and counts.unknown:
        yield HistoryLine(
            counts.unknown_since, f"No answer came back about {counted_copies(counts.unknown)}"
        )
