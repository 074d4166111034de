"""
A page for forms that are too large, and for forms that broke off on their way.

Without it Django refuses a large form while it looks for the CSRF token, with a page that does not
say what was wrong. It takes a form that broke off for an empty one, which is accepted where a
script sends the token in a header. A browser that is still sending sees the page, because the web
server keeps the connection open for a moment (`web_worker`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render
from django.views.defaults import bad_request

MB = 1024 * 1024


class RefusedForms:
    """Middleware that comes before the one that reads forms for their CSRF token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: Any
    ) -> HttpResponse | None:
        """413 for a form that is too large, 400 for one that broke off."""
        if request.method != "POST" or getattr(view, "csrf_exempt", False):
            return None  # these bound what they take by themselves
        try:
            request.POST  # noqa: B018 -- it is read here
        except RequestDataTooBig:
            return _too_large(request)
        except UnreadablePostError as fault:
            return bad_request(request, fault)
        return None

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """400 where a view that reads its form by itself could not; no fault of ours."""
        return bad_request(request, fault) if isinstance(fault, UnreadablePostError) else None


def _too_large(request: HttpRequest) -> HttpResponse:
    length = request.META.get("CONTENT_LENGTH", "")
    found = math.ceil(10 * int(length) / MB) / 10 if length.isascii() and length.isdecimal() else 0
    page = render(
        request,
        "413.html",
        {"found": f"{found:,.1f}", "most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // MB},
        status=413,
    )
    page.headers["Cache-Control"] = "no-store"
    return page
