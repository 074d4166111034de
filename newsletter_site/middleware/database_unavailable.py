"""
The answer while the database is away: 503 with `Retry-After`, on every page.

Not a fault of ours, and soon over: whoever pressed may press again, and programs come again by
themselves, a mail program with its one-click unsubscribe among them. Only for errors that say that
the database cannot be reached or takes no writes; everything else stays a fault.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import psycopg
from django.db import Error, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views import defaults

from newsletter_site.logs.exceptions import iter_causes
from newsletter_site.middleware.service_unavailable import come_again

logger = logging.getLogger(__name__)

# PostgreSQL, appendix A. Class 08 is a connection that is not there; PgBouncer says 08P01 when it
# reaches no server.
_NO_CONNECTION = "08"
_AWAY = frozenset(
    {
        "25006",  # takes no writes: a standby, or a server that is being moved
        "25P03",  # the session was ended because it was silent
        "53300",  # too many connections
        "57P01",  # shut down by an administrator, or this session was ended by one
        "57P02",  # crashed
        "57P03",  # starting up or shutting down
        "57P05",  # the session was ended because it was idle
    }
)
# What psycopg raises, without a code, if there was no reply.
_WITHOUT_REPLY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)


def is_away(fault: BaseException | None) -> bool:
    """Whether a fault means that the database is away, itself or by what it came from."""
    return any(_says_so(one) for one in iter_causes(fault))


def _says_so(fault: BaseException) -> bool:
    if not isinstance(fault, Error | psycopg.Error):
        return False
    driver = fault if isinstance(fault, psycopg.Error) else fault.__cause__
    sqlstate = getattr(driver, "sqlstate", None) or ""
    if sqlstate:
        return sqlstate in _AWAY or sqlstate.startswith(_NO_CONNECTION)
    # No code, so the server said nothing: the line is cut, or could not be laid. psycopg raises an
    # internal error if a cut line gave no reply, and ProgrammingError if a connection is misused.
    return isinstance(driver, _WITHOUT_REPLY) or isinstance(
        fault, OperationalError | InterfaceError
    )


class DatabaseAway:
    """Middleware, the innermost: what a view could not do because the database is away."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """503 where the database is away; any other fault goes its way."""
        if not is_away(fault):
            return None
        # Of a fault that was answered Django writes nothing.
        logger.error("the database is away", exc_info=fault)
        return answer(request)


def server_error(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
    """Django's page for a fault, unless it was that the database is away: between middlewares."""
    if is_away(sys.exc_info()[1]):
        return answer(request)
    return defaults.server_error(request, *args, **options)


def answer(request: HttpRequest) -> HttpResponse:
    """What is said: a page for people, JSON for programs."""
    return come_again(request, why="The database cannot be reached just now.", was_begun=True)
