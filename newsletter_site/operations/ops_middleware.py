"""Answer health checks and /metrics before any other middleware.

A load balancer uses an IP address, without TLS or cookies. The answers do not depend on `Host`.
"""

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin

OPERATIONS_URLS = "newsletter_site.operations.urls"


class OperationsMiddleware(MiddlewareMixin):
    """Answer requests of monitors.

    It comes before all middleware that redirects or refuses, and after that of the log.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        try:
            match = resolve(request.path_info, urlconf=OPERATIONS_URLS)
        except Resolver404:
            return None
        request.resolver_match = match  # for the log and the metrics
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        # CommonMiddleware sets no length here, and the web server would close the connection.
        response["Content-Length"] = str(len(response.content))
        return response
