"""
One line of the log for each request, and the ids on all lines of it: the only place for both.

Of an address its route is written and never the address: that of a page for readers holds the
permission to open it. Nor where it came from: docs/logs.md says why.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.core.signals import request_finished
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.utils.functional import SimpleLazyObject
from structlog.contextvars import clear_contextvars

from delivery import log_context
from newsletter_site.logs.routes import route_of

logger = logging.getLogger(__name__)

HEADER = "X-Request-ID"
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Asked for every few seconds by machines; only their failing is worth a line.
_QUIET = ("/health/", "/metrics")


@dataclass
class _Going:
    """A request that is being answered."""

    request: HttpRequest
    response: HttpResponseBase
    began_s: float
    sent_bytes: int = 0


_going: ContextVar[_Going | None] = ContextVar("_going", default=None)


class RequestLogging:
    """
    Middleware, the outermost: the id of a request, and its line once it is answered.

    The ids stay until the answer has gone: Django still logs after the last middleware. Then they
    end, as the thread goes on to what somebody else sends, which may be no request at all.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began_s = time.monotonic()
        clear_contextvars()  # A server may have left an answer without its end.
        request_id = id_of(request)
        log_context.bind(request=request_id)
        response = self.get_response(request)
        response.headers[HEADER] = request_id
        going = _Going(request, response, began_s)
        if isinstance(response, HttpResponse):
            going.sent_bytes = len(response.content)
        elif isinstance(response, FileResponse):
            # Left as it is: the web server has the kernel send the file.
            going.sent_bytes = int(response.headers.get("Content-Length", 0))
        elif isinstance(response, StreamingHttpResponse):
            response.streaming_content = _counted(iter(response), going)
        _going.set(going)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _: Any, parts: dict[str, Any]
    ) -> None:
        """The ids that stand in the address of the page."""
        if isinstance(parts.get("issue"), uuid.UUID):
            log_context.bind(issue=parts["issue"])
        if isinstance(parts.get("import_id"), int):
            log_context.bind(**{"import": parts["import_id"]})


class BindAuthor:
    """Middleware after the one that reads the session: the id of whoever is signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        asked_for = request.user

        def signed_in() -> Any:
            # Only once somebody asks who it is: that costs a query, and most pages do not.
            if asked_for.is_authenticated:
                log_context.bind(author=asked_for.pk)
            return asked_for

        request.user = SimpleLazyObject(signed_in)  # type: ignore[assignment]
        return self.get_response(request)


def id_of(request: HttpRequest) -> str:
    """The id that the proxy in front gave the request, where one is believed; else a new one."""
    told = request.headers.get(HEADER, "") if settings.TRUST_PROXY else ""
    return told if _ID.fullmatch(told) else uuid.uuid4().hex


def _counted(content: Iterable[bytes], going: _Going) -> Iterator[bytes]:
    for piece in content:
        going.sent_bytes += len(piece)
        yield piece


def _end(**_: Any) -> None:
    """This thread has answered a request to its end: its line is the last that bears its ids."""
    _log_request()
    clear_contextvars()


def _log_request() -> None:
    going = _going.get()
    if going is None:
        return
    _going.set(None)
    request, status = going.request, going.response.status_code
    logger.log(
        _level(request, status),
        "%s %s was answered %d",
        request.method,
        route_of(request),
        status,
        extra={
            "method": request.method,
            "route": route_of(request),
            "status": status,
            "ms": round((time.monotonic() - going.began_s) * 1000, 1),
            "bytes": going.sent_bytes,
        },
    )


def _level(request: HttpRequest, status: int) -> int:
    if status >= 500:
        return logging.WARNING
    is_static = request.path.startswith(settings.STATIC_URL)
    is_quiet = status < 400 and (is_static or request.path.startswith(_QUIET))
    return logging.DEBUG if is_quiet else logging.INFO


def _bind_author(*, user: Any, **_: Any) -> None:
    log_context.bind(author=user.pk)


def listen() -> None:
    """Have a line written at the end of each request, and signing in name the author."""
    request_finished.connect(_end, dispatch_uid="the line of a request")
    user_logged_in.connect(_bind_author, dispatch_uid="the author on the log")
