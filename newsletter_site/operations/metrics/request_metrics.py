"""
Counts every request by the route that it took, how it was answered, and how long that took.

By the route and never by the address: an address may be a permission, and there are no bounds to
how many of them somebody makes up.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from newsletter_site.operations.metrics import flush_metrics, site_metrics


class RequestMetrics:
    """Middleware, right after the doors of operators, whose own requests are not counted."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = f"/{match.route}" if match else site_metrics.NO_ROUTE
        site_metrics.observe_request(route, response.status_code, time.perf_counter() - began)
        flush_metrics.something_was_counted()
        return response
