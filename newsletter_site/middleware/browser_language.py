"""Use the browser's language on pages that do not use the newsletter's language."""

from collections.abc import Collection
from contextlib import AbstractContextManager

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

from delivery.languages import ENGLISH

DESK = "/admin/"
DESK_LANGUAGES = (ENGLISH, "de")
# Programs request these addresses. The answers are in English, so they need no query for the
# newsletter's language.
FOR_PROGRAMS = (
    *("/api/", "/health/", "/metrics", "/webhooks/", "/static/", "/pictures/"),
    *("/favicon.ico", "/look.css"),
)


def in_browser_language(request: HttpRequest) -> AbstractContextManager[None]:
    """Activate the browser's first language in which the page exists, or English."""
    return translation.override(_first_language(request, _languages_of(request.path_info)))


def _languages_of(path: str) -> Collection[str]:
    if path.startswith(FOR_PROGRAMS):
        return ()
    return DESK_LANGUAGES if path.startswith(DESK) else dict(settings.LANGUAGES)


def _first_language(request: HttpRequest, among: Collection[str]) -> str:
    for code, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        language = code.partition("-")[0]
        if language in among:
            return language
    return ENGLISH
