"""How an issue stands: the page, and the reader-by-reader list below it."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from delivery.models import Edition, Newsletter
from delivery.monitoring.alarms import load_alarms
from delivery.monitoring.worker_heartbeat import load_warnings
from publishing.actions.action_sentences import LABELS
from publishing.actions.edition_actions import ACTIONS
from publishing.content.edition_content import plain_title
from publishing.desk_access import PUBLISH, desk_page, may_look
from publishing.drafts.drafts import open_draft_of_issue
from publishing.editions.edition_from_url import edition_from_url
from publishing.editions.status import load_status
from publishing.editions.versions import is_correction, reached_someone, versions_of
from publishing.flash_messages import notes_of
from publishing.permissions import MAY_WRITE
from publishing.progress.edition_history import history_of
from publishing.progress.issue_list import rows_of
from publishing.progress.poll_interval import ask_again_s, reload_s
from publishing.progress.progress import OUTCOME_TONES, counts_of, reading_of
from publishing.progress.reader_outcomes_view import listed_readers
from publishing.progress_bar import ORDER

ALARMS_SHOWN = 10


@may_look
@require_safe
def progress(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """The progress of an issue's newest edition, or of the version that is named."""
    edition = edition_from_url(request, issue)
    status = load_status(edition.pk)
    counts = counts_of(status.books)
    versions = versions_of(issue).annotate(is_correction=is_correction()).select_related("author")
    alarms = load_alarms(edition.pk, most=ALARMS_SHOWN + 1)
    zone = Newsletter.objects.the_one().zone
    live = reading_of(status, zone)
    may_open = any(map(request.user.has_perm, MAY_WRITE))
    return desk_page(
        request,
        "publishing/progress.html",
        {
            "edition": edition,
            "title": plain_title(edition),
            "status": status,
            "is_ours": not status.books.is_transactional,
            "live": live,
            "ask_again_s": ask_again_s(status),
            "reload_s": reload_s(status),
            # Without its fragment: to that a browser would only scroll.
            "here": request.get_full_path(),
            "ledger": [
                (name, counts[name], OUTCOME_TONES[name], live.text[f"note_{name}"])
                for name in ORDER
            ],
            "readers": listed_readers(request, edition, status, zone),
            "history": history_of(edition, status),
            "newer": _newer_version(edition),
            "draft": open_draft_of_issue(issue) if may_open else None,
            "versions": rows_of(versions) if edition.version > 1 or versions.count() > 1 else [],
            "has_reached": reached_someone(issue),
            "notes": notes_of(request),
            "warnings": [] if live.at_rest else load_warnings(),
            "may_publish": request.user.has_perm(PUBLISH),
            "alarms": alarms[:ALARMS_SHOWN],
            "more_alarms": len(alarms) > ALARMS_SHOWN,
            "actions": [
                (action, LABELS[action.name])
                for action in ACTIONS.values()
                if action.is_open_to(request.user.has_perm)
            ],
        },
    )


def _newer_version(edition: Edition) -> int | None:
    """The version that came after this one, if it is not the newest."""
    return (
        Edition.objects.filter(issue=edition.issue_id, version__gt=edition.version)
        .order_by("-version")
        .values_list("version", flat=True)
        .first()
    )
