"""The readers of an edition as a file, by what became of their copies."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from publishing.activity import record_activity
from publishing.desk_access import author_of, may_take_readers_away
from publishing.editions.dropped_sentence import dropped_sentence
from publishing.editions.edition_from_url import edition_from_url
from publishing.editions.status import load_status
from publishing.progress.outcomes_csv import lines_of, name_of
from publishing.progress.reader_outcomes import ALL, LISTS, every_copy


@may_take_readers_away
@require_safe
def readers_csv(request: HttpRequest, issue: uuid.UUID) -> HttpResponseBase:
    """Those with one outcome, or all, sent while they are read."""
    outcome = request.GET.get("outcome") or ALL
    if outcome not in LISTS:
        raise Http404(f"There is no such list of readers; one of {', '.join(LISTS)} is expected.")
    edition = edition_from_url(request, issue)
    dropped = dropped_sentence(edition.copies_dropped_at)
    if dropped:
        return HttpResponse(f"{dropped}\n", status=410, content_type="text/plain; charset=utf-8")
    record_activity.record_download(author_of(request), edition, outcome)
    file = StreamingHttpResponse(
        lines_of(every_copy(edition.pk, outcome), held_until=load_status(edition.pk).held_until),
        content_type="text/csv; charset=utf-8",
    )
    name = name_of(edition.issue.slug, edition.version, outcome)
    file.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    file.headers["Cache-Control"] = "no-store"
    return file
