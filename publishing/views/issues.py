"""All issues at a glance."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from publishing.issue_list import held_back_on_request, newest_editions, rows_of
from publishing.views.accepted import notes_of
from publishing.views.desk import PUBLISH, desk_page, may_look

PAGE = 50


@may_look
@require_safe
def issues(request: HttpRequest) -> HttpResponse:
    """The issues, 50 to a page, newest first."""
    page = Paginator(newest_editions(), PAGE).get_page(request.GET.get("page"))
    return desk_page(
        request,
        "publishing/issues.html",
        {
            "page": page,
            "rows": rows_of(page),
            "notes": notes_of(request),
            "held_back": held_back_on_request(),
            "may_publish": request.user.has_perm(PUBLISH),
        },
    )
