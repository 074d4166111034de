"""The product's own 404 page in debug, where Django would show its URL patterns."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin
from django.views.defaults import page_not_found


class NotFoundPage(MiddlewareMixin):
    """It comes after the middleware that the page needs. The demo runs in debug too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.DEBUG:
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Answer 404 if no URL pattern matches."""
        try:
            resolve(request.path_info)
        except Resolver404 as error:
            return page_not_found(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 404 if a view raised `Http404`."""
        return page_not_found(request, error) if isinstance(error, Http404) else None
