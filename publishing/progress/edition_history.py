"""The history of an edition: actions of users and automatic events, newest first."""

from collections.abc import Iterator
from datetime import datetime
from operator import itemgetter

from django.contrib.admin.models import LogEntry
from django.utils.translation import gettext as _

from delivery.humanise import counted
from delivery.interface import reason_sentence
from delivery.models import Edition
from publishing.activity.activity_sentences import sentence_of
from publishing.display_name import called
from publishing.editions.edition_status import EditionStatus
from publishing.models import Issue

MAX_LINES = 50
# A line of the history: a time and a sentence.
HistoryLine = tuple[datetime, str]


def history_of(edition: Edition, status: EditionStatus) -> list[HistoryLine]:
    """Return the log entries of this version and its issue, and automatic events."""
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
        (entry.action_time, sentence.on_own_page(called(entry.user)))
        for entry in entries
        for sentence in [sentence_of(entry)]
        if sentence.version in (None, edition.version)
    ]
    lines = [*people, *_automatic(edition, status)]
    return sorted(lines, key=itemgetter(0), reverse=True)[:MAX_LINES]


def _automatic(edition: Edition, status: EditionStatus) -> Iterator[HistoryLine]:
    counts = status.counts
    if counts.now >= counts.held_until > counts.published_at and (counts.sent or counts.unknown):
        yield (counts.held_until, _("The hold ended and the first copies were sent."))
    stopped = edition.control == "stopped" or (
        edition.control == "paused" and edition.control_reason
    )
    if stopped and edition.control_at is not None:
        reason = reason_sentence(edition.control_reason)
        text = (
            _("Homing paused it: {reason}")
            if edition.control == "paused"
            else _("Homing stopped it: {reason}")
        )
        yield edition.control_at, text.format(reason=reason)
    # If the worker was killed, `unknown_since` is the deadline of its call, which may lie ahead.
    if counts.unknown and counts.unknown_since is not None and counts.unknown_since <= counts.now:
        yield (
            counts.unknown_since,
            counted(
                "No answer came back for {n} copy.",
                "No answer came back for {n} copies.",
                counts.unknown,
            ),
        )
