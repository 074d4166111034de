"""
Answers operators' machines before any other middleware looks at the request.

A load balancer asks by an address and not by a name, without TLS and without a cookie. So these few
addresses are answered whatever `Host` says: ALLOWED_HOSTS is there because a name that was sent can
end in a link, a redirect or a cache, and here it ends nowhere. Nothing is redirected, no session is
read, and every other address goes the ordinary way, with all its checks.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import Resolver404, ResolverMatch, resolve

OPERATORS = "newsletter_site.operations.urls"


class OperationsMiddleware:
    """Middleware before any that redirects or refuses; only the log's comes before it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        match = _door(request.path_info)
        if match is None:
            # Not from within the `except`: a fault of the page would have it for a cause.
            return self.get_response(request)
        # For whoever writes down which route was asked for.
        request.resolver_match = match
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        answer: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return answer


def _door(path: str) -> ResolverMatch | None:
    try:
        return resolve(path, urlconf=OPERATORS)
    except Resolver404:
        return None
