"""
Who may come to the desk, and what every page of it stands on.

Who is not signed in is sent to the login page, which leads back; who is, and may not, gets a page
that says so. (Sending them to the login page would send them round in a circle.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils import timezone

from delivery.models import Newsletter
from publishing import kept_form

PUBLISH = "publishing.publish_edition"
LOOK = "publishing.view_issue"

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def may_publish(view: View[P]) -> View[P]:
    """Only for users who may publish."""
    return _guarded(view, (PUBLISH,), "Publishing needs a permission that this account lacks.")


def may_look(view: View[P]) -> View[P]:
    """For users who may publish or may view issues."""
    return _guarded(
        view, (PUBLISH, LOOK), "Looking at issues needs a permission that this account lacks."
    )


def author_of(request: HttpRequest) -> uuid.UUID:
    """The id of whoever is signed in. Every page of the desk is behind a guard that made sure."""
    if not request.user.is_authenticated:
        raise PermissionDenied("This needs somebody who is signed in.")
    return request.user.pk


def _guarded(view: View[P], permissions: tuple[str, ...], refusal: str) -> View[P]:
    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            if request.method == "POST":
                kept_form.keep(request)
            return redirect_to_login(request.get_full_path(), resolve_url(settings.LOGIN_URL))
        if not any(request.user.has_perm(permission) for permission in permissions):
            raise PermissionDenied(f"{refusal} Ask an operator for it.")
        return view(request, *args, **kwargs)

    return guarded


def desk_page(
    request: HttpRequest, template: str, facts: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """
    A page of the desk. Its times are the newsletter's.

    Not `no-store`: the back button must show the form as it was, text and key, and not a fresh
    one under which the same letter could be published again.
    """
    newsletter = Newsletter.objects.the_one()
    with timezone.override(newsletter.zone):
        page = render(
            request,
            template,
            {"newsletter": newsletter, "sandbox_url": _sandbox_url(), **facts},
            status=status,
        )
    page.headers["Cache-Control"] = "private, no-cache"
    return page


def _sandbox_url() -> str:
    """Where the mail of a development site ends up, so that nobody has to look for it."""
    in_sandbox = settings.DEBUG and settings.POSTMARK_SERVER_TOKEN == "sandbox"  # noqa: S105
    return settings.POSTMARK_BASE_URL if in_sandbox else ""
