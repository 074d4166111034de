"""Redirect users without two-step sign-in to the set-up (REQUIRE_SECOND_FACTOR)."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from newsletter_site.sign_in.finish_sign_in import has_two_steps

# Pages below /admin/ that users without two-step sign-in may open.
OPEN_VIEWS = {
    "two_step",
    "two_step_qr_code",
    "passkeys",
    "passkey",
    "unblock_sign_in",
    "login",
    "passkey_options",
    "passkey_sign_in",
    "organisation_sign_in",
    "organisation_return",
    "admin:login",
    "admin:logout",
}


class EnforceTwoStep(MiddlewareMixin):
    """Middleware that redirects users without two-step sign-in. Needs `request.user`."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *args: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        if (
            not settings.REQUIRE_SECOND_FACTOR
            or match is None
            or not match.route.startswith("admin/")
            or match.view_name in OPEN_VIEWS
            or not request.user.is_authenticated
            or request.user.two_step_since is not None
            or has_two_steps(request)
        ):
            return None
        if request.method not in {"GET", "HEAD"}:
            raise PermissionDenied(
                _(
                    "Nothing was changed. Every account on this site needs two-step sign-in, and "
                    "yours has none yet. Set it up at {address}."
                ).format(address=reverse("two_step"))
            )
        return HttpResponseRedirect(reverse("two_step"))
