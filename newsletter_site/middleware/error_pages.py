"""The pages for requests that cannot be answered: 400, 404, 413 and 503."""

import logging
import math
import sys
from collections.abc import Callable
from typing import Any

import psycopg
from django.conf import settings
from django.core.exceptions import DisallowedHost, MiddlewareNotUsed, RequestDataTooBig
from django.db import Error, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin
from django.views import defaults

from api.problem import ProblemType, problem_response
from newsletter_site.api.api_middleware import API_ROOT
from newsletter_site.logs.exceptions import iter_causes

logger = logging.getLogger(__name__)

MB = 1024 * 1024
# A restart takes some seconds, a failover half a minute.
RETRY_AFTER_S = 10

# PostgreSQL, appendix A. Class 08 means no connection; PgBouncer says 08P01 without a server.
_NO_CONNECTION = "08"
_UNAVAILABLE = {
    "25006",  # takes no writes: a standby, or a server that is being moved
    "25P03",  # the session was idle in a transaction for too long
    "53300",  # too many connections
    "57P01",  # shut down by an administrator, or this session was ended by one
    "57P02",  # crashed
    "57P03",  # starting up or shutting down
    "57P05",  # the session was idle for too long
}
# What psycopg raises, without a code, if there was no reply.
_WITHOUT_REPLY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: Django's page, unless the host name is unknown. Anybody may send any name."""
    if not isinstance(exception, DisallowedHost):
        return defaults.bad_request(request, exception)
    logger.warning("a request was for a name that is not among ALLOWED_HOSTS")
    if request.path_info.startswith(API_ROOT):
        sentence = (
            "Nothing was done. Use the host name of the site's address. An operator can add "
            "another one to ALLOWED_HOSTS."
        )
        return problem_response(ProblemType.UNKNOWN_HOST, sentence)
    return HttpResponse(render_to_string("unknown_host.html"), status=400)


class NotFoundPage(MiddlewareMixin):
    """The product's 404 page in debug (the demo too), where Django would show its URL patterns."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.DEBUG:
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        try:
            resolve(request.path_info)
        except Resolver404 as error:
            return defaults.page_not_found(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return defaults.page_not_found(request, error) if isinstance(error, Http404) else None


class FormErrors(MiddlewareMixin):
    """Pages for forms that are too large (413) or cut off (400), before the CSRF token is read."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: Any
    ) -> HttpResponse | None:
        """Read the form. Views without CSRF protection limit what they read themselves."""
        if request.method != "POST" or getattr(view, "csrf_exempt", False):
            return None
        try:
            request.POST  # noqa: B018 -- this reads it
        except RequestDataTooBig:
            return _too_large(request)
        except UnreadablePostError as error:
            return defaults.bad_request(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        is_cut = isinstance(error, UnreadablePostError)
        return defaults.bad_request(request, error) if is_cut else None


def _too_large(request: HttpRequest) -> HttpResponse:
    length = request.META.get("CONTENT_LENGTH", "")
    found = math.ceil(10 * int(length) / MB) / 10 if length.isascii() and length.isdecimal() else 0
    sizes = {"found": f"{found:,.1f}", "most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // MB}
    page = render(request, "413.html", sizes, status=413)
    page.headers["Cache-Control"] = "no-store"
    return page


def service_unavailable(request: HttpRequest, *, why: str, was_begun: bool) -> HttpResponse:
    """503 for people or programs. `why` is public; `was_begun`: it may be done in part."""
    response: HttpResponse
    path = request.path_info
    if path.startswith(("/api/", "/health/")) or path.endswith(".json"):
        reasons = [f"{why} Whatever was asked for can be asked for again."]
        response = JsonResponse({"status": "unavailable", "reasons": reasons}, status=503)
    else:
        was_read = request.method in {"GET", "HEAD"}
        context = {"why": why, "was_read": was_read, "was_begun": was_begun}
        response = HttpResponse(render_to_string("503.html", context), status=503)
    response["Retry-After"] = str(RETRY_AFTER_S)
    response["Cache-Control"] = "no-store"
    return response


def is_unavailable(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, means that the database is unavailable."""
    return any(_means_unavailable(cause) for cause in iter_causes(error))


def _means_unavailable(error: BaseException) -> bool:
    if not isinstance(error, Error | psycopg.Error):
        return False
    driver = error if isinstance(error, psycopg.Error) else error.__cause__
    if sqlstate := getattr(driver, "sqlstate", None):
        return sqlstate in _UNAVAILABLE or sqlstate.startswith(_NO_CONNECTION)
    return isinstance(driver, _WITHOUT_REPLY) or isinstance(
        error, OperationalError | InterfaceError
    )


class DatabaseUnavailable(MiddlewareMixin):
    """The innermost middleware: 503 for views while the database is away or takes no writes."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not is_unavailable(error):
            return None
        # Django does not log an error that a middleware answered.
        logger.error("the database is away", exc_info=error)
        return _database_page(request)


def server_error(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
    """handler500, for errors of middleware: 503 if the database is unavailable."""
    if is_unavailable(sys.exc_info()[1]):
        return _database_page(request)
    return defaults.server_error(request, *args, **options)


def _database_page(request: HttpRequest) -> HttpResponse:
    why = "The database cannot be reached just now."
    return service_unavailable(request, why=why, was_begun=True)
