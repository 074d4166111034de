"""Keeps what somebody posts after their session ended: it becomes a draft of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.urls import reverse

from idempotency.key import FIELD, BadKey, key_given
from publishing.drafts import drafts
from publishing.drafts.draft_form import issue_posted, why_too_long, wording_posted
from publishing.drafts.drafts import TooManyUntouchedError
from publishing.drafts.unsent_forms import WRITER_FIELD, writer_of
from publishing.editions.versions import plan_version
from publishing.permissions import PUBLISH, WRITE, may
from publishing.script_request import wants_json

P = ParamSpec("P")

View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def kept_when_signed_out(view: View[P]) -> View[P]:
    """
    Keep what was posted after the session had ended, in a draft of its own.

    The sign-in leads to that draft. Only for a form shown to somebody signed in: it carries a
    signed note of whose it is. The script is sent to the login page and keeps its words itself.
    """

    @wraps(view)
    def kept(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.method != "POST" or request.user.is_authenticated or wants_json(request):
            return view(request, *args, **kwargs)
        writer = writer_of(request.POST.get(WRITER_FIELD, ""))
        key = key_given(request.POST.getlist(FIELD), None)
        wording = wording_posted(request.POST.dict())
        if (
            writer is None
            or not (may(writer, WRITE) or may(writer, PUBLISH))
            or isinstance(key, BadKey)
            or why_too_long(wording.written)
        ):
            return view(request, *args, **kwargs)
        try:
            draft = drafts.keep(
                writer, key, wording, issue=issue_there(request), shown=draft_named(request)
            )
        except TooManyUntouchedError as error:
            return _not_kept(request, str(error))
        address = reverse("desk:draft", args=[draft.pk])
        return redirect_to_login(f"{address}?signed_out=", resolve_url(settings.LOGIN_URL))

    return kept


def _not_kept(request: HttpRequest, sentence: str) -> HttpResponse:
    """429: all that was posted, hidden, in a form that posts it again after signing in."""
    page = render(
        request,
        "publishing/signed_out_not_kept.html",
        {
            "sentence": sentence,
            "action": request.get_full_path(),
            "login": resolve_url(settings.LOGIN_URL),
            "fields": [one for one in request.POST.items() if one[0] != "csrfmiddlewaretoken"],
        },
        status=429,
    )
    page.headers["Cache-Control"] = "private, no-cache"
    return page


def draft_named(request: HttpRequest) -> uuid.UUID | None:
    """The draft that the address names, if it names one."""
    return request.resolver_match.kwargs.get("draft") if request.resolver_match else None


def issue_there(request: HttpRequest) -> uuid.UUID | None:
    """The issue that the form names, if it is one of which something was published."""
    try:
        issue = issue_posted(request.POST.dict())
    except ValueError:
        return None
    return issue if issue is not None and plan_version(issue) is not None else None
