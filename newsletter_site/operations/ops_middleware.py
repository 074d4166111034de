"""Answers operators' machines before any other middleware: a load balancer asks by an address,
without TLS or a cookie. Nothing in these answers depends on `Host`."""

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin

OPERATIONS_URLS = "newsletter_site.operations.urls"


class OperationsMiddleware(MiddlewareMixin):
    """Middleware before any that redirects or refuses; only the log's comes before it."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        try:
            match = resolve(request.path_info, urlconf=OPERATIONS_URLS)
        except Resolver404:
            return None
        request.resolver_match = match  # for the log and the metrics
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return response
