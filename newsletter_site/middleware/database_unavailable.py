"""Answer 503 with `Retry-After` while the database cannot be reached or takes no writes."""

import logging
import sys
from typing import Any

import psycopg
from django.db import Error, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin
from django.views import defaults

from newsletter_site.logs.exceptions import iter_causes
from newsletter_site.middleware.service_unavailable import service_unavailable

logger = logging.getLogger(__name__)

# PostgreSQL, appendix A. Class 08 means no connection; PgBouncer says 08P01 when it reaches no
# server.
_NO_CONNECTION = "08"
_UNAVAILABLE = frozenset(
    {
        "25006",  # takes no writes: a standby, or a server that is being moved
        "25P03",  # the session was idle in a transaction for too long
        "53300",  # too many connections
        "57P01",  # shut down by an administrator, or this session was ended by one
        "57P02",  # crashed
        "57P03",  # starting up or shutting down
        "57P05",  # the session was idle for too long
    }
)
# What psycopg raises, without a code, if there was no reply. An internal error: a cut connection
# gave no reply. It raises ProgrammingError if a connection is misused.
_WITHOUT_REPLY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)


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
    """The innermost middleware, for errors of views."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 503 if the database is unavailable."""
        if not is_unavailable(error):
            return None
        # Django does not log an error that a middleware answered.
        logger.error("the database is away", exc_info=error)
        return _page(request)


def server_error(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
    """handler500, for errors of middleware: 503 if the database is unavailable."""
    if is_unavailable(sys.exc_info()[1]):
        return _page(request)
    return defaults.server_error(request, *args, **options)


def _page(request: HttpRequest) -> HttpResponse:
    why = "The database cannot be reached just now."
    return service_unavailable(request, why=why, was_begun=True)
