"""The product's own 404 page in debug too, where Django shows its addresses and settings."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.defaults import page_not_found


class OwnNotFound:
    """Middleware in debug, behind all that the page needs: the demo runs so, before its guests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.DEBUG:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            resolve(request.path_info)
        except Resolver404 as nowhere:
            return page_not_found(request, nowhere)
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """404 if a view found nothing; any other fault goes its way."""
        return page_not_found(request, fault) if isinstance(fault, Http404) else None
