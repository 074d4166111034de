"""Use the newsletter's language on readers' pages, and the browser's on the desk."""

from collections.abc import Callable

from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from delivery.languages import in_language_of
from delivery.models import Newsletter
from newsletter_site.middleware.browser_language import DESK, FOR_PROGRAMS, in_browser_language
from newsletter_site.middleware.error_pages import unavailable_page


class PageLanguage:
    """Activate a page's language, and keep the loaded newsletter for the page's view.

    If the database is unavailable, readers get the error message in their browser's language.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path.startswith((DESK, *FOR_PROGRAMS)):
            with in_browser_language(request):
                response = self.get_response(request)
            if path.startswith(DESK):
                patch_vary_headers(response, ["Accept-Language"])
            return response
        try:
            newsletter = Newsletter.objects.get_current()
        except Error as error:
            with in_browser_language(request):
                page = unavailable_page(request, error)
            if page is None:
                raise
            return page
        request.newsletter = newsletter  # type: ignore[attr-defined]
        with in_language_of(newsletter):
            return self.get_response(request)
