"""
Pages for forms that are too large (413) and for forms that were cut off (400).

Django's page for the first does not say what was wrong, and it takes the second for empty.
"""

import math
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.views.defaults import bad_request

MB = 1024 * 1024


class FormErrors(MiddlewareMixin):
    """Middleware that comes before the one that reads forms for their CSRF token."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: Any
    ) -> HttpResponse | None:
        """Read the form. Views without CSRF protection limit what they read themselves."""
        if request.method != "POST" or getattr(view, "csrf_exempt", False):
            return None
        try:
            request.POST  # noqa: B018 -- this reads it
        except RequestDataTooBig:
            return _too_large(request)
        except UnreadablePostError as error:
            return bad_request(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 400 if a view could not read its form."""
        return bad_request(request, error) if isinstance(error, UnreadablePostError) else None


def _too_large(request: HttpRequest) -> HttpResponse:
    length = request.META.get("CONTENT_LENGTH", "")
    found = math.ceil(10 * int(length) / MB) / 10 if length.isascii() and length.isdecimal() else 0
    sizes = {"found": f"{found:,.1f}", "most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // MB}
    page = render(request, "413.html", sizes, status=413)
    page.headers["Cache-Control"] = "no-store"
    return page
