"""Answers operators' machines before any other middleware: a load balancer asks by an address,
without TLS or a cookie. Nothing in these answers depends on `Host`."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import Resolver404, ResolverMatch, resolve

OPERATIONS_URLS = "newsletter_site.operations.urls"


class OperationsMiddleware:
    """Middleware before any that redirects or refuses; only the log's comes before it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        match = _match(request.path_info)
        if match is None:
            # Not from within the `except`: it would become the cause of the page's own errors.
            return self.get_response(request)
        request.resolver_match = match  # for the log and the metrics
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return response


def _match(path: str) -> ResolverMatch | None:
    try:
        return resolve(path, urlconf=OPERATIONS_URLS)
    except Resolver404:
        return None
