"""Where a second factor is demanded of everybody: whoever has none comes no further than to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

# Pages below the admin that stay open, by the names of their addresses.
STAYS_OPEN = {"second_factor", "second_factor_picture", "let_in", "admin:login", "admin:logout"}


class SecondFactorDemanded:
    """Middleware for REQUIRE_SECOND_FACTOR; it comes after the one that knows who is signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: Any
    ) -> HttpResponse | None:
        """Lead to the page where it is set up, or refuse what is posted."""
        match = request.resolver_match
        if (
            not settings.REQUIRE_SECOND_FACTOR
            or match is None
            or not match.route.startswith("admin/")
            or match.view_name in STAYS_OPEN
            or match.route == "admin/login/"
            or not request.user.is_authenticated
            or request.user.second_factor_since is not None
        ):
            return None
        if request.method not in {"GET", "HEAD"}:
            raise PermissionDenied(
                "A second factor is asked of everybody here, and your account has none yet. Set it "
                f"up at {reverse('second_factor')}. Nothing was changed."
            )
        return HttpResponseRedirect(reverse("second_factor"))
