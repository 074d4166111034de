"""
What browsers may do with every page: the Content-Security-Policy, and the abilities it may use.

A view that needs its own policy (the preview of a mail) sets the header itself and keeps it.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

HEADER = "Content-Security-Policy"
POLICY = (
    "default-src 'self'; img-src 'self' data: https:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
ABILITIES = "Permissions-Policy"
# Pages here use none of them; nothing that got into one may.
NONE_OF_THEM = ", ".join(
    f"{ability}=()"
    for ability in (
        *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "hid"),
        *("magnetometer", "microphone", "midi", "payment", "screen-wake-lock", "serial", "usb"),
    )
)


class ContentSecurityPolicy:
    """Middleware that adds both where a view set none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault(HEADER, POLICY)
        response.headers.setdefault(ABILITIES, NONE_OF_THEM)
        return response
