"""Whether a page's own script sent a request, which then gets JSON instead of a page."""

from django.http import HttpRequest


def wants_json(request: HttpRequest) -> bool:
    """Whether it is the page's script that asks."""
    return "application/json" in request.headers.get("Accept", "")
