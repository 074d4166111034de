"""Recognise requests from a page's script, which get JSON instead of a page."""

from django.http import HttpRequest


def wants_json(request: HttpRequest) -> bool:
    """Return whether the page's script sent the request."""
    return "application/json" in request.headers.get("Accept", "")
