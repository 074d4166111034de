"""The frame of every desk page, and who may open those about readers."""

import uuid
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.http.response import HttpResponse
from django.shortcuts import render, resolve_url
from django.utils import timezone

from delivery.models import Newsletter
from subscribers.permissions import MANAGE

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


class Guard:
    """Decorates a view for users with any of these permissions; for all users if there are none."""

    def __init__(self, *permissions: str, what: str = "") -> None:
        self._permissions = permissions
        self._refusal = (
            f"{what} needs a permission that this account lacks. Ask an operator for it."
        )

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


may_manage_readers = Guard(MANAGE, what="Managing readers")


def user_id_of(request: HttpRequest) -> uuid.UUID:
    """The id of the signed-in user. The guard of the page made sure that there is one."""
    if not request.user.is_authenticated:
        raise PermissionDenied("Sign in first.")
    return request.user.pk


def desk_page(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page of the desk with the newsletter's times. Not `no-store`: the back button must
    show a form with its text and key."""
    newsletter = Newsletter.objects.get_current()
    # Where the mail of a development site ends up.
    in_sandbox = settings.DEBUG and settings.POSTMARK_SERVER_TOKEN == "sandbox"  # noqa: S105
    sandbox_url = settings.POSTMARK_BASE_URL if in_sandbox else ""
    with timezone.override(newsletter.zone):
        frame = {"newsletter": newsletter, "sandbox_url": sandbox_url}
        page = render(request, template, {**frame, **context}, status=status)
    page.headers["Cache-Control"] = "private, no-cache"
    return page
