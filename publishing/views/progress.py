"""How an issue stands: the page, its later readings, and the reader-by-reader list below it."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from delivery.models import Edition, Newsletter
from delivery.queue.alarms import alarms_of
from delivery.queue.presence import warnings
from publishing.actions import ACTIONS
from publishing.bar import ORDER
from publishing.issue_list import plain_title, rows_of
from publishing.naming_editions import version_number
from publishing.progress import OUTCOME_TONES, counts_of, live_json, reading_of
from publishing.reader_outcomes import FIRST_FEW, PAGE, outcome_page, place
from publishing.status import NoSuchEditionError, edition_of, status_of
from publishing.versions import corrects, reached_someone, versions_of
from publishing.views.accepted import notes_of
from publishing.views.desk import PUBLISH, desk_page, may_look

ALARMS_SHOWN = 10
# Whose readers are listed unasked: those whose copy did not simply go out.
LISTED_UNASKED = ("failed", "unknown", "suppressed", "withdrawn")


@may_look
@require_safe
def progress(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """The progress of an issue's newest edition, or of the version that is named."""
    edition = named_edition(request, issue)
    status = status_of(edition.pk)
    counts = counts_of(status.books)
    outcome, most = request.GET.get("outcome", ""), PAGE
    if outcome not in ORDER:
        most = FIRST_FEW
        outcome = next((name for name in LISTED_UNASKED if counts[name]), "")
    after = place(request.GET.get("after", ""))
    versions = versions_of(issue).annotate(corrects=corrects()).select_related("author")
    alarms = alarms_of(edition.pk, most=ALARMS_SHOWN + 1)
    live = reading_of(status, Newsletter.objects.the_one().zone)
    return desk_page(
        request,
        "publishing/progress.html",
        {
            "edition": edition,
            "title": plain_title(edition),
            "hold_s": (edition.held_until - edition.published_at).total_seconds(),
            "status": status,
            "live": live,
            "ledger": [
                (name, counts[name], OUTCOME_TONES[name], live.text[f"note_{name}"])
                for name in ORDER
            ],
            "paged": after is not None,
            "readers": outcome and outcome_page(edition.pk, outcome, after, most=most),
            "newer": _newer_version(edition),
            "versions": rows_of(versions) if edition.version > 1 or versions.count() > 1 else [],
            "has_reached": reached_someone(issue),
            "notes": notes_of(request),
            "warnings": [] if live.at_rest else warnings(),
            "may_publish": request.user.has_perm(PUBLISH),
            "alarms": alarms[:ALARMS_SHOWN],
            "more_alarms": len(alarms) > ALARMS_SHOWN,
            "actions": ACTIONS.values(),
        },
    )


@may_look
@require_safe
def progress_json(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """The keys of `issue_status` with `rate` and `eta_s`, and what the page shows of them."""
    status = status_of(named_edition(request, issue).pk)
    return JsonResponse(
        live_json(status, Newsletter.objects.the_one().zone),
        headers={"Cache-Control": "no-store"},
    )


def named_edition(request: HttpRequest, issue: uuid.UUID) -> Edition:
    """The edition that an address names, by issue and `?version=`. Raises `Http404`."""
    try:
        return edition_of(issue, version_number(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None


def _newer_version(edition: Edition) -> int | None:
    """The version that came after this one, if it is not the newest."""
    return (
        Edition.objects.filter(issue=edition.issue_id, version__gt=edition.version)
        .order_by("-version")
        .values_list("version", flat=True)
        .first()
    )
