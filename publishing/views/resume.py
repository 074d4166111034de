"""Letting a stopped edition go on: a sheet that states the numbers, and the button on it."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from delivery.models import Edition
from publishing import audit_trail
from publishing.actions import ACTIONS, CannotDoThatError, nothing_to_resume
from publishing.issue_list import plain_title
from publishing.progress import can_resume
from publishing.status import status_of
from publishing.views.desk import author_of, desk_page, may_publish
from publishing.views.progress import named_edition

RESUMED = "Resumed. One batch goes first; the rest follows once Postmark has judged it."


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def resume(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """GET asks, POST resumes. Pressing twice does no more than pressing once."""
    edition = named_edition(request, issue)
    back = _progress_of(edition, request)
    if request.method == "POST":
        return _resumed(request, edition, back)
    status = status_of(edition.pk)
    if not can_resume(status):
        messages.warning(request, nothing_to_resume(edition))
        return _see(back)
    return desk_page(
        request,
        "publishing/resume.html",
        {
            "title": plain_title(edition),
            "status": status,
            "back": back,
        },
    )


def _resumed(request: HttpRequest, edition: Edition, back: str) -> HttpResponse:
    try:
        ACTIONS["resume"](edition)
    except CannotDoThatError as error:
        messages.warning(request, str(error))
    else:
        audit_trail.record_action(author_of(request), edition, "resumed")
        messages.success(request, RESUMED)
    return _see(back)


def _progress_of(edition: Edition, request: HttpRequest) -> str:
    address = reverse("desk:progress", args=[edition.issue_id])
    return f"{address}?version={edition.version}" if "version" in request.GET else address


def _see(address: str) -> HttpResponse:
    answer = HttpResponseRedirect(address)
    answer.status_code = 303
    return answer
