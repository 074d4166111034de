"""
Who may come to the desk, and what every page of it stands on.

Who is not signed in is sent to the login page, which leads back; who is, and may not, gets a page
that says so. (Sending them to the login page would send them round in a circle.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url

from publishing import kept_form
from subscribers.views.desk import desk_page

__all__ = ["LOOK", "PUBLISH", "author_of", "desk_page", "may_look", "may_publish"]

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
