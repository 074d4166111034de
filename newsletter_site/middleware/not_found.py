"""The product's own 404 page in debug, where Django would show its URL patterns."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.defaults import page_not_found


class OwnNotFound:
    """
    Middleware that shows our own 404 page in debug, in which the demo runs too.

    It comes after the middleware that the page needs.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.DEBUG:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            resolve(request.path_info)
        except Resolver404 as error:
            return page_not_found(request, error)
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """Return our 404 page if a view raised `Http404`; None for any other fault."""
        return page_not_found(request, fault) if isinstance(fault, Http404) else None
