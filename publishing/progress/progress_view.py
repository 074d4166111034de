"""The progress page of an edition: its state, its readers, and the actions."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.contrib.admin.models import LogEntry
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from delivery.humanise import counted
from delivery.interface import reason_sentence
from delivery.models import Edition, Newsletter
from delivery.reports.load_edition_results import EditionResults, load_results
from delivery.reports.worker_warnings import load_warnings
from publishing.actions.edition_actions import ACTIONS, readers_now
from publishing.activity import activity_sentences
from publishing.content.edition_content import plain_title
from publishing.desk_access import desk_page, may_look
from publishing.desk_permissions import MAY_ACT, MAY_WRITE, PUBLISH
from publishing.display_name import called
from publishing.drafts.save_draft import open_draft_of_issue
from publishing.editions.edition_status import EditionStatus
from publishing.editions.find_edition import edition_from_url, statuses_from_url
from publishing.editions.versions import (
    count_remaining,
    is_correction,
    may_send_to_remaining,
    versions_of,
)
from publishing.flash_messages import notes_of
from publishing.models import Draft, Issue
from publishing.progress.edition_progress import EditionProgress, is_at_rest
from publishing.progress.issue_list import hides_a_send, rows_of
from publishing.progress.live_page import (
    LONGEST_S,
    OpenPages,
    Poll,
    SharedReadings,
    ask_again_s,
    next_poll,
    poll_from,
    reload_s,
    tag_of,
)
from publishing.progress.progress_sentences import NEEDS_APPROVAL, sentence_of
from publishing.progress.reader_outcomes_view import chosen_list, listed_readers
from publishing.progress.result_sentences import result_rows

ALARMS_SHOWN = 10
MAX_LINES = 50
# A line of the history: a time and a sentence.
HistoryLine = tuple[datetime, str]
_LIVE_PARTS = ("head", "notices", "counts", "results", "details", "versions", "reader_tabs")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the page reads from the database: an edition and all versions of its issue."""

    edition: Edition
    status: EditionStatus
    statuses: Sequence[EditionStatus]
    versions: Sequence[Edition]
    newsletter: Newsletter
    results: Sequence[EditionResults]
    warnings: Sequence[str]
    draft: Draft | None


_pages = OpenPages(within_s=1.5 * LONGEST_S, limit=5000)
_readings: SharedReadings[_Reading] = SharedReadings(for_s=1, limit=100)
# The readers of a scheduled edition are counted once a minute, not at every poll of a page.
_readers_today: SharedReadings[int] = SharedReadings(for_s=60, limit=100)


@may_look
@require_safe
def progress(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """Show the progress of an issue's newest edition, or of the named version."""
    poll = poll_from(request)
    if poll is not None:
        return _update(request, issue, poll)
    reading = _read(request, issue)
    edition, status = reading.edition, reading.status
    shown = _live_context(request, reading)
    alarms = list(edition.alarm_set.order_by("-raised_at", "-pk")[: ALARMS_SHOWN + 1])
    return desk_page(
        request,
        "publishing/progress/progress.html",
        {
            **shown,
            "newsletter": reading.newsletter,
            "readers": listed_readers(request, edition, status, reading.newsletter.zone),
            "history": _history_of(edition, status),
            "poll": next_poll(request, ask_again_s(status)),
            "reload_s": reload_s(status),
            "notes": notes_of(request),
            "alarms": alarms[:ALARMS_SHOWN],
            "more_alarms": len(alarms) > ALARMS_SHOWN,
        },
    )


@may_look
@require_safe
def progress_json(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """Return the JSON of `issue_status`, with the additional keys `rate` and `eta_s`."""
    status, _ = statuses_from_url(request, issue)
    return JsonResponse(status.progress_json(), headers={"Cache-Control": "no-store"})


def _update(request: HttpRequest, issue: uuid.UUID, poll: Poll) -> HttpResponse:
    """Answer a poll with the changed parts, and with the time of the next poll.

    Polls of the same page within a second share one read of the database.
    """
    pages = 1
    if poll.page:
        pages = _pages.seen(poll.page, hidden=poll.is_hidden)
        key = (issue, request.GET.get("version"))
        reading = _readings.get(key, lambda: _read(request, issue))
    else:
        reading = _read(request, issue)
    edition, status = reading.edition, reading.status
    with timezone.override(reading.newsletter.zone):
        context = {**_live_context(request, reading), "is_update": True}
        parts = "".join(
            render_to_string(f"publishing/progress/progress_{part}.html", context, request)
            for part in _LIVE_PARTS
        )
        tag, unchanged = poll.compare(parts)
        after_s = ask_again_s(status, hidden=poll.is_hidden, unchanged=unchanged, pages=pages)
        context["poll"] = next_poll(request, after_s, seen=tag, unchanged=unchanged)
        context["is_older"] = _counts(status) != poll.listed.partition(".")[2]
        has_new_list = _is_list_news(context["listed"], poll.listed, context["progress"])
        if has_new_list:
            context["readers"] = listed_readers(request, edition, status, reading.newsletter.zone)
            context["history"] = _history_of(edition, status)
        body = render_to_string(
            "publishing/progress/progress_update.html",
            {**context, "parts": "" if unchanged else parts, "has_new_list": has_new_list},
            request,
        )
    return HttpResponse(body, headers={"Cache-Control": "no-store"})


def _read(request: HttpRequest, issue: uuid.UUID) -> _Reading:
    status, statuses = statuses_from_url(request, issue)
    versions = list(
        versions_of(issue).annotate(is_correction=is_correction()).select_related("author", "issue")
    )
    edition = next((one for one in versions if one.pk == status.counts.edition), None)
    return _Reading(
        edition=edition or edition_from_url(request, issue),
        status=status,
        statuses=statuses,
        versions=versions,
        newsletter=Newsletter.objects.get_current(),
        warnings=[] if is_at_rest(status) else load_warnings(),
        draft=open_draft_of_issue(issue),
        results=[] if status.counts.is_transactional else load_results(status.counts.edition),
    )


def _mailed_before(reading: _Reading) -> EditionStatus | None:
    """If this version was sent to nobody, return the last mailed version before it."""
    shown = reading.status.counts
    if not hides_a_send(shown):
        return None
    earlier = (one for one in reading.statuses if one.counts.version < shown.version)
    return next((one for one in earlier if one.counts.audience and not one.taken_back), None)


def _live_context(request: HttpRequest, reading: _Reading) -> dict[str, Any]:
    edition, status = reading.edition, reading.status
    shown, may = EditionProgress(status), request.user.has_perm
    readers = chosen_list(request, edition, status.counts)
    counts = {one.counts.edition: one.counts for one in reading.statuses}
    draft = reading.draft if any(map(may, MAY_WRITE)) else None
    is_called_back = status.counts.is_called_back
    newest = max((one.version for one in reading.versions), default=edition.version)
    is_newest = edition.version == newest
    offers_remaining = is_newest and may(PUBLISH) and may_send_to_remaining(edition, status.counts)
    states = " ".join(f"{one.counts.version}{one.words}" for one in reading.statuses)
    shape = tag_of(f"{readers['outcome']} {status.counts.has_started} {states}")
    return {
        "edition": edition,
        "title": plain_title(edition),
        "status": status,
        "counts": status.counts,
        "read_at": status.counts.now,
        "progress": shown,
        "readers_today": _count_today(request, status),
        "results": result_rows(reading.results, status.counts.now),
        "sentence": (edition.issue.moved_words if edition.version == 1 else "")
        or (
            str(NEEDS_APPROVAL)
            if shown.needs_approval
            else sentence_of(status, reading.newsletter.zone)
        ),
        "is_ours": not status.counts.is_transactional,
        "actions": [
            action
            for action in ACTIONS.values()
            if action.name in shown.actions and any(map(may, MAY_ACT))
        ],
        "may_publish": may(PUBLISH),
        "others_waiting": any(
            one.counts.waiting or one.counts.unknown
            for one in reading.statuses
            if one.counts.edition != edition.pk
        ),
        "offers_remaining": offers_remaining,
        "remaining": count_remaining(edition) if offers_remaining else None,
        "mailed": _mailed_before(reading),
        "has_reached": any(one.counts.sent for one in reading.statuses),
        "reopened": draft if is_called_back else None,
        "draft": None if is_called_back else draft,
        "newer": newest if newest > edition.version else None,
        "warnings": reading.warnings,
        "versions": rows_of(reading.versions, counts) if len(reading.versions) > 1 else [],
        "readers": readers,
        "listed": f"{shape}.{_counts(status)}",
        # The URL must have no fragment: with a fragment, a browser would scroll instead of
        # reloading.
        "here": request.get_full_path(),
    }


def _count_today(request: HttpRequest, status: EditionStatus) -> int:
    """Count the readers who would get a scheduled edition now."""
    if status.counts.control != "scheduled":
        return 0
    if poll_from(request) is None:
        return readers_now(status)
    return _readers_today.get(status.counts.edition, lambda: readers_now(status))


def _counts(status: EditionStatus) -> str:
    return "-".join(str(count) for _, count, _ in EditionProgress(status).outcomes)


def _is_list_news(listed: str, before: str, shown: EditionProgress) -> bool:
    """Return whether a poll must read the list of readers and the history again.

    During a send, changed counts alone are no reason to read the list and the history, because
    counts change very often.
    """
    if listed.partition(".")[0] != before.partition(".")[0]:
        return True
    return shown.is_at_rest and listed != before


def _history_of(edition: Edition, status: EditionStatus) -> list[HistoryLine]:
    """Return the actions of users on the version or its issue, and automatic events."""
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
        for sentence in [activity_sentences.sentence_of(entry)]
        if sentence.version in (None, edition.version)
    ]
    lines = [*people, *_automatic_events(edition, status)]
    return sorted(lines, key=itemgetter(0), reverse=True)[:MAX_LINES]


def _automatic_events(edition: Edition, status: EditionStatus) -> Iterator[HistoryLine]:
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
    # If the worker was killed, `unknown_since` is the deadline of its call, which may be in the
    # future.
    if counts.unknown and counts.unknown_since is not None and counts.unknown_since <= counts.now:
        yield (
            counts.unknown_since,
            counted(
                "No answer came back for {n} copy.",
                "No answer came back for {n} copies.",
                counts.unknown,
            ),
        )
