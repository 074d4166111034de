"""The frame of every desk page, and the permissions for pages about readers."""

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
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from delivery.interface import provider_name
from delivery.models import Newsletter
from delivery.reports.promise_sentence import promise_sentence
from subscribers.reader_permissions import CHANGE_NEWSLETTER, MANAGE

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


class Guard:
    """A decorator that lets users with any of these permissions open a view.

    If no permissions are given, every signed-in user may open the view. `refusal` is the sentence
    that refused users see.
    """

    def __init__(self, *permissions: str, refusal: Promise | str = "") -> None:
        self._permissions = permissions
        self._refusal = refusal

    def __call__(
        self, view: Callable[Concatenate[HttpRequest, P], R]
    ) -> Callable[Concatenate[HttpRequest, P], R | HttpResponse]:
        """Guard the view."""

        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R | HttpResponse:
            if not request.user.is_authenticated:
                # The script htmx leaves the open page as it is. The next page that the user opens
                # is the sign-in page.
                if "HX-Request" in request.headers:
                    return HttpResponse(status=401)
                return redirect_to_login(request.get_full_path(), resolve_url(settings.LOGIN_URL))
            if self._permissions and not any(map(request.user.has_perm, self._permissions)):
                raise PermissionDenied(str(self._refusal))
            return view(request, *args, **kwargs)

        return guarded


may_manage_readers = Guard(
    MANAGE, refusal=_("Your account may not manage readers. Ask your administrator for access.")
)
# On the settings page, a user sees only the sections that their permissions cover.
may_see_settings = Guard(
    MANAGE,
    CHANGE_NEWSLETTER,
    refusal=_("Your account may not open this page. Ask your administrator for access."),
)


def user_id_of(request: HttpRequest) -> uuid.UUID:
    """Return the id of the signed-in user.

    The page's guard has refused users who are not signed in.
    """
    if not request.user.is_authenticated:
        raise PermissionDenied(gettext("Sign in first."))
    return request.user.pk


def wants_json(request: HttpRequest) -> bool:
    """Return whether the page's script sent the request."""
    return "application/json" in request.headers.get("Accept", "")


def name_of_provider(request: HttpRequest) -> dict[str, object]:
    """Give all templates `provider`, also those of a part of a page."""
    return {"provider": provider_name()}


def desk_page(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page of the desk in the newsletter's time zone.

    The newsletter is read from the database unless the context contains it. Browsers may store the
    response: after the back button, a form must still have its text and its key.
    """
    newsletter = context.get("newsletter") or Newsletter.objects.get_current()
    with timezone.override(newsletter.zone):
        frame = {
            "newsletter": newsletter,
            "promise": promise_sentence,
            "sandbox_url": settings.SANDBOX_URL,
        }
        page = render(request, template, {**frame, **context}, status=status)
    page.headers["Cache-Control"] = "private, no-cache"
    return page
