"""Answer health checks and /metrics before any other middleware.

A load balancer calls an IP address, without TLS or cookies, so the answers do not depend on `Host`.
"""

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin

OPERATIONS_URLS = "newsletter_site.operations.urls"


class OperationsMiddleware(MiddlewareMixin):
    """Answer requests of monitors.

    This middleware comes after the middleware of the log, and before all middleware that redirects
    or refuses requests.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        try:
            match = resolve(request.path_info, urlconf=OPERATIONS_URLS)
        except Resolver404:
            return None
        request.resolver_match = match  # the route for the log and the metrics
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        # Set the length here, because CommonMiddleware does not run. Without this header, the web
        # server would close the connection.
        response["Content-Length"] = str(len(response.content))
        return response
