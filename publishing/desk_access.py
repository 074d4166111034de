"""
Who may come to the desk, and what every page of it stands on.

Who is not signed in is sent to the login page, which leads back; who is, and may not, gets a page
that says so. (Sending them to the login page would send them round in a circle.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url

from publishing.permissions import (
    LOOK,
    MAY_ACT,
    MAY_LOOK,
    MAY_WRITE,
    OPERATE,
    PUBLISH,
    TAKE_READERS_AWAY,
    WRITE,
)
from subscribers.desk_access import desk_page
from subscribers.permissions import MANAGE

__all__ = [
    "LOOK",
    "NO_OPERATOR",
    "OPERATE",
    "PUBLISH",
    "WRITE",
    "author_of",
    "desk_page",
    "may_look",
    "may_operate",
    "may_publish",
    "may_see_the_desk",
    "may_take_readers_away",
    "may_write",
    "sees_readers",
    "signed_in",
]

NO_OPERATOR = "Operating needs a permission that this account lacks."

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)
View = Callable[Concatenate[HttpRequest, P], HttpResponse]
ViewOfAny = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def may_publish(view: View[P]) -> View[P]:
    """Only for users who may publish."""
    return _guarded(view, (PUBLISH,), "Publishing needs a permission that this account lacks.")


def may_write(view: View[P]) -> View[P]:
    """For users who may write, which whoever may publish may too."""
    return _guarded(view, MAY_WRITE, "Writing needs a permission that this account lacks.")


def may_look(view: View[P]) -> View[P]:
    """For users who may view issues, or do anything with them."""
    return _guarded(
        view,
        MAY_LOOK,
        "Looking at issues needs a permission that this account lacks.",
    )


def may_take_readers_away(view: ViewOfAny[P]) -> ViewOfAny[P]:
    """For users who may have the readers of an issue as a file, or look for one of them."""
    return _guarded(
        view,
        TAKE_READERS_AWAY,
        "Downloading the readers of an issue needs a permission that this account lacks.",
    )


def may_operate(view: View[P]) -> View[P]:
    """For users who may settle what is going out, which whoever may publish may too."""
    return _guarded(view, MAY_ACT, NO_OPERATOR)


def may_see_the_desk(view: View[P]) -> View[P]:
    """For whoever may look at issues or manage readers; each sees what they have to do with."""
    return _guarded(
        view,
        (*MAY_LOOK, MANAGE),
        "The desk needs a permission that this account lacks.",
    )


def signed_in(view: View[P]) -> View[P]:
    """For whoever is signed in; what they may see there, the page itself decides."""
    return _guarded(view, None, "")


def sees_readers(request: HttpRequest) -> bool:
    """Whether the user may see readers, in the list or on the page of an issue."""
    return any(map(request.user.has_perm, TAKE_READERS_AWAY))


def author_of(request: HttpRequest) -> uuid.UUID:
    """The id of whoever is signed in. Every page of the desk is behind a guard that made sure."""
    if not request.user.is_authenticated:
        raise PermissionDenied("This needs somebody who is signed in.")
    return request.user.pk


def _guarded(
    view: Callable[Concatenate[HttpRequest, P], R],
    permissions: tuple[str, ...] | None,
    refusal: str,
) -> Callable[Concatenate[HttpRequest, P], R | HttpResponse]:
    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R | HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), resolve_url(settings.LOGIN_URL))
        if permissions is not None and not any(map(request.user.has_perm, permissions)):
            raise PermissionDenied(f"{refusal} Ask an operator for it.")
        return view(request, *args, **kwargs)

    return guarded
