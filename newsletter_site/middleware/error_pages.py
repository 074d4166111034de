"""The error pages 400, 404, 413, 500 and 503."""

import logging
import math
import sys
from collections.abc import Callable
from typing import Any

import psycopg
from django.conf import settings
from django.core.exceptions import DisallowedHost, MiddlewareNotUsed, RequestDataTooBig
from django.db import Error, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views import defaults

from api.problem import ProblemType, problem_response
from newsletter_site.api.api_middleware import API_ROOT, UNKNOWN_HOST
from newsletter_site.logs.describe_exception import iter_causes
from newsletter_site.middleware.browser_language import in_browser_language

logger = logging.getLogger(__name__)

MB = 1024 * 1024
# A restart of the database takes a few seconds, a failover half a minute.
RETRY_AFTER_S = 10

# Error codes from appendix A of PostgreSQL's manual. Codes that begin with 08 mean that there is no
# connection. PgBouncer sends 08P01 if it cannot reach a server.
_NO_CONNECTION = "08"
_UNAVAILABLE = {
    "25006",  # read-only: a standby, or a server that is being moved
    "25P03",  # the session was idle in a transaction for too long
    "53300",  # too many connections
    "57P01",  # an administrator shut the server down or ended this session
    "57P02",  # crashed
    "57P03",  # starting up or shutting down
    "57P05",  # the session was idle for too long
}
# psycopg raises these errors without a code if the server did not reply.
_WITHOUT_REPLY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400 (handler400), with a special page for unknown host names."""
    if not isinstance(exception, DisallowedHost):
        return defaults.bad_request(request, exception)
    logger.warning("a request was refused: its host name is not among ALLOWED_HOSTS")
    if request.path_info.startswith(API_ROOT):
        return problem_response(*UNKNOWN_HOST)
    with in_browser_language(request):
        return HttpResponse(render_to_string("unknown_host.html"), status=400)


class NotFoundPage(MiddlewareMixin):
    """Show our 404 page in debug mode, such as in the demo.

    Django's own page would show the site's URL patterns.
    """

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
    """Answer forms that are too large (413), before the CSRF check."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *args: Any
    ) -> HttpResponse | None:
        """Read the form if the view has CSRF protection.

        Views without CSRF protection limit their input themselves.
        """
        if request.method != "POST" or getattr(view, "csrf_exempt", False):
            return None
        try:
            request.POST  # noqa: B018 -- the access reads the form
        except RequestDataTooBig:
            return _too_large(request)
        return None


def _too_large(request: HttpRequest) -> HttpResponse:
    length = request.META.get("CONTENT_LENGTH", "")
    found = math.ceil(10 * int(length) / MB) / 10 if length.isascii() and length.isdecimal() else 0
    sizes = {"found": f"{found:,.1f}", "most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // MB}
    page = render(request, "413.html", sizes, status=413)
    page.headers["Cache-Control"] = "no-store"
    return page


def refuse_unread(path: str, kind: ProblemType, detail: str) -> HttpResponse:
    """Answer a request that the web server could not read."""
    if path.startswith(API_ROOT):
        return problem_response(kind, detail)
    if kind in (ProblemType.TOO_SLOW, ProblemType.NOT_AVAILABLE):
        return HttpResponse(f"{detail}\n", "text/plain; charset=utf-8", kind.status)
    template = "500.html" if kind is ProblemType.FAILED else "web_server_refusal.html"
    # The thread may still have the language of an earlier request.
    with override(settings.LANGUAGE_CODE):
        return HttpResponse(render_to_string(template), status=kind.status)


def service_unavailable(request: HttpRequest, *, why: str, was_begun: bool) -> HttpResponse:
    """Answer 503, as a page or as JSON.

    The visitor sees the text `why`. With `was_begun`, the answer says that the site may have begun
    to handle the request.
    """
    response: HttpResponse
    path = request.path_info
    if path.startswith(("/api/", "/health/")) or path.endswith(".json"):
        reasons = ["{} {}".format(why, _("The request can be repeated."))]
        response = JsonResponse({"status": "unavailable", "reasons": reasons}, status=503)
    else:
        was_read = request.method in {"GET", "HEAD"}
        context = {"why": why, "was_read": was_read, "was_begun": was_begun}
        response = HttpResponse(render_to_string("503.html", context), status=503)
    response["Retry-After"] = str(RETRY_AFTER_S)
    response["Cache-Control"] = "no-store"
    return response


def is_unavailable(error: BaseException | None) -> bool:
    """Return whether an error or one of its causes means an unavailable database."""
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
    """Answer 503 for views while the database is unavailable.

    This is the innermost middleware.
    """

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return unavailable_page(request, error)


def unavailable_page(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """Answer 503 if this error means an unavailable database."""
    if not is_unavailable(error):
        return None
    # Django does not log errors that a middleware answers.
    logger.error("the database cannot be reached", exc_info=error)
    return _database_page(request)


def server_error(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
    """Answer errors of middleware (handler500) with 503 or 500."""
    if is_unavailable(sys.exc_info()[1]):
        return _database_page(request)
    return defaults.server_error(request, *args, **options)


def _database_page(request: HttpRequest) -> HttpResponse:
    why = _("The database cannot be reached at the moment.")
    return service_unavailable(request, why=why, was_begun=True)
