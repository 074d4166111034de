"""The language of a page: the newsletter's for readers, the browser's on the desk."""

from collections.abc import Callable, Collection

from django.conf import settings
from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import parse_accept_lang_header

from delivery.languages import ENGLISH, in_language_of
from delivery.models import Newsletter
from newsletter_site.middleware.error_pages import unavailable_page

DESK = "/admin/"
DESK_LANGUAGES = (ENGLISH, "de")
# Programs read these, in English. They cost no query.
FOR_PROGRAMS = (
    *("/api/", "/health/", "/metrics", "/webhooks/", "/static/", "/pictures/"),
    *("/favicon.ico", "/look.css"),
)


def browser_language(request: HttpRequest, among: Collection[str]) -> str:
    """Return the first of these languages that the browser prefers, or English."""
    for code, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        language = code.partition("-")[0]
        if language in among:
            return language
    return ENGLISH


class PageLanguage:
    """Activate the language of a page, and keep the newsletter that it was read from.

    Without the database, readers get the message in their browser's language.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path.startswith(FOR_PROGRAMS):
            with translation.override(ENGLISH):
                return self.get_response(request)
        if path.startswith(DESK):
            with translation.override(browser_language(request, DESK_LANGUAGES)):
                response = self.get_response(request)
            patch_vary_headers(response, ["Accept-Language"])
            return response
        try:
            newsletter = Newsletter.objects.get_current()
        except Error as error:
            with translation.override(browser_language(request, dict(settings.LANGUAGES))):
                page = unavailable_page(request, error)
            if page is None:
                raise
            return page
        request.newsletter = newsletter  # type: ignore[attr-defined]
        with in_language_of(newsletter):
            return self.get_response(request)
