"""Use the language that an author chose, and note that the session is used."""

from collections.abc import Callable

from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

from newsletter_site.authors.open_sessions import note_use
from newsletter_site.middleware.browser_language import DESK, DESK_LANGUAGES


class AuthorLanguage:
    """Middleware for the desk. Needs `request.user`.

    Without a choice, the page keeps the browser's language.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        language = _chosen_language(request) if request.path_info.startswith(DESK) else ""
        if language not in DESK_LANGUAGES:
            return self.get_response(request)
        with translation.override(language):
            return self.get_response(request)


def _chosen_language(request: HttpRequest) -> str:
    try:
        if not request.user.is_authenticated:
            return ""
    except Error:
        # The view will fail too, and `DatabaseUnavailable` answers then.
        return ""
    note_use(request.session)
    return request.user.language
