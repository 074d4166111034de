"""
A response as it is saved: status, headers, body and the messages shown with it.

A response that cannot be sent again byte for byte, or that belongs to one browser only, is refused
with an error: it is a bug in the view.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from idempotency.captured_messages import CapturedMessage

# Django's CSRF tokens have 32 characters, or 64 when masked. A shorter text may be in a response by
# chance.
SHORTEST_TOKEN = 32


@dataclass(frozen=True)
class SavedResponse:
    """What a view answered. Header values are bytes as on the wire."""

    status: int
    headers: tuple[tuple[str, bytes], ...]
    body: bytes
    messages: tuple[CapturedMessage, ...]

    @property
    def url(self) -> str:
        """The address of the work's result, from Location or Content-Location; else empty."""
        named = {name.lower(): value for name, value in self.headers}
        return named.get("location", named.get("content-location", b"")).decode("latin-1")


class CannotBeReplayedError(TypeError):
    """A view's response must not, or cannot, be sent a second time."""


def to_saved_response(
    request: HttpRequest, response: HttpResponse, messages: tuple[CapturedMessage, ...]
) -> SavedResponse:
    """
    Convert a view's response, without cookies and without the CSRF header.

    A replay may go to another browser of the same user. Raises CannotBeReplayedError if the body or
    a header holds the CSRF token that was posted with the form.
    """
    csrf_header = settings.CSRF_HEADER_NAME.removeprefix("HTTP_").replace("_", "-").lower()
    headers = tuple(
        (name, value.encode("latin-1"))
        for name, value in response.items()
        if name.lower() not in ("set-cookie", csrf_header)
    )
    body = bytes(response.content)
    token = request.POST.get("csrfmiddlewaretoken", "").encode()
    parts = (body, *(value for _, value in headers))
    if len(token) >= SHORTEST_TOKEN and any(token in part for part in parts):
        raise CannotBeReplayedError(
            "The view answered with the CSRF token of the form. Answer without it."
        )
    return SavedResponse(response.status_code, headers, body, messages)


def to_http_response(saved: SavedResponse) -> HttpResponse:
    """Build the same response again: status, headers and bytes."""
    response = HttpResponse(saved.body, status=saved.status)
    # Django sets a content type of its own, which the view may have removed.
    del response.headers["Content-Type"]
    for name, value in saved.headers:
        response.headers[name] = value.decode("latin-1")
    return response
