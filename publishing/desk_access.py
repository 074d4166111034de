"""Who may open which page of the desk."""

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

from publishing.permissions import MAY_ACT, MAY_LOOK, MAY_WRITE, PUBLISH, TAKE_READERS_AWAY
from subscribers.desk_access import desk_page
from subscribers.permissions import MANAGE

__all__ = [
    "NO_OPERATOR",
    "PUBLISH",
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

ASK = "Ask an operator for it."
NO_OPERATOR = "Operating needs a permission that this account lacks."

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


class Guard:
    """Decorates a view for users with any of these permissions; for all users if there are none."""

    def __init__(self, *permissions: str, what: str = "") -> None:
        self._permissions = permissions
        self._refusal = f"{what} needs a permission that this account lacks. {ASK}"

    def __call__(
        self, view: Callable[Concatenate[HttpRequest, P], R]
    ) -> Callable[Concatenate[HttpRequest, P], R | HttpResponse]:
        """The view behind this guard."""

        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R | HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path(), resolve_url(settings.LOGIN_URL))
            if self._permissions and not any(map(request.user.has_perm, self._permissions)):
                raise PermissionDenied(self._refusal)
            return view(request, *args, **kwargs)

        return guarded


may_publish = Guard(PUBLISH, what="Publishing")
may_write = Guard(*MAY_WRITE, what="Writing")
may_look = Guard(*MAY_LOOK, what="Looking at issues")
may_take_readers_away = Guard(*TAKE_READERS_AWAY, what="Downloading the readers of an issue")
may_operate = Guard(*MAY_ACT, what="Operating")
# Each user sees the parts that they have to do with.
may_see_the_desk = Guard(*MAY_LOOK, MANAGE, what="The desk")
# What a user may see there, the page itself decides.
signed_in = Guard()


def sees_readers(request: HttpRequest) -> bool:
    """Whether the user may see readers, in the list or on the page of an issue."""
    return any(map(request.user.has_perm, TAKE_READERS_AWAY))


def author_of(request: HttpRequest) -> uuid.UUID:
    """The id of the signed-in user. The guard of the page made sure that there is one."""
    if not request.user.is_authenticated:
        raise PermissionDenied("This needs somebody who is signed in.")
    return request.user.pk
