"""Middleware for REQUIRE_SECOND_FACTOR: authors without two-step sign-in see only its set-up."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

# Pages below /admin/ that stay open.
OPEN_VIEWS = {"two_step", "two_step_qr_code", "let_in", "login", "admin:login", "admin:logout"}


class EnforceTwoStep(MiddlewareMixin):
    """It comes after the middleware that sets `request.user`."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        if (
            not settings.REQUIRE_SECOND_FACTOR
            or match is None
            or not match.route.startswith("admin/")
            or match.view_name in OPEN_VIEWS
            or not request.user.is_authenticated
            or request.user.two_step_since is not None
        ):
            return None
        if request.method not in {"GET", "HEAD"}:
            raise PermissionDenied(
                "Everybody here needs two-step sign-in, and your account has none yet. Set it up "
                f"at {reverse('two_step')}. Nothing was changed."
            )
        return HttpResponseRedirect(reverse("two_step"))
