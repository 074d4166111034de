"""Log and count each request, by its route and not by its path (docs/logs.md)."""

import logging
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject
from structlog.contextvars import clear_contextvars

from delivery import log_context
from newsletter_site.logs.routes_in_logs import route_of
from newsletter_site.operations.metrics.site_metrics import NO_ROUTE, observe_request

logger = logging.getLogger(__name__)

HEADER = "X-Request-ID"
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Monitoring systems request these paths every few seconds. For these paths, the log shows only
# failed requests, and the metrics count no requests.
_QUIET = ("/health/", "/metrics")


class RequestLogging:
    """Bind the id of a request. Log and count the request when its answer is sent.

    This is the outermost middleware.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started_s = time.monotonic()
        # Clear the ids of this thread's previous request, because its response may not have been
        # finished.
        clear_contextvars()
        request_id = id_of(request)
        log_context.bind(request=request_id)
        response = self.get_response(request)
        response.headers[HEADER] = request_id
        sent = [0]
        if isinstance(response, HttpResponse):
            sent = [len(response.content)]
        elif isinstance(response, FileResponse):
            # Do not wrap the file to count its bytes: the kernel could then not send the file
            # directly.
            sent = [int(response.headers.get("Content-Length", 0))]
        elif isinstance(response, StreamingHttpResponse):
            response.streaming_content = _count_bytes(iter(response), sent)
        log = partial(_log_request, request, response.status_code, started_s, sent)
        response._resource_closers.append(log)  # type: ignore[attr-defined]
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _: Any, kwargs: dict[str, Any]
    ) -> None:
        """Bind the ids in the page's address to the log lines of this request."""
        if isinstance(kwargs.get("issue"), uuid.UUID):
            log_context.bind(issue=kwargs["issue"])
        if isinstance(kwargs.get("import_id"), int):
            log_context.bind(**{"import": kwargs["import_id"]})


class BindAuthor(MiddlewareMixin):
    """Bind the id of the signed-in user to the log lines of this request.

    This middleware must come after the middleware that reads the session.
    """

    def process_request(self, request: HttpRequest) -> None:
        user = request.user

        def bind_and_return() -> Any:
            # Bind the id only if the page has loaded the user, because loading the user costs a
            # query.
            if user.is_authenticated:
                log_context.bind(author=user.pk)
            return user

        request.user = SimpleLazyObject(bind_and_return)  # type: ignore[assignment]


def id_of(request: HttpRequest) -> str:
    """Return the request's id from a trusted proxy, or a new one."""
    given = request.headers.get(HEADER, "") if settings.TRUST_PROXY else ""
    return given if _ID.fullmatch(given) else uuid.uuid4().hex


def _count_bytes(content: Iterable[bytes], sent: list[int]) -> Iterator[bytes]:
    for chunk in content:
        sent[0] += len(chunk)
        yield chunk


def _log_request(request: HttpRequest, status: int, started_s: float, sent: list[int]) -> None:
    seconds = time.monotonic() - started_s
    if not request.path.startswith(_QUIET):
        # Log the route and not the address, because an address may contain a token.
        match = request.resolver_match
        observe_request(f"/{match.route}" if match else NO_ROUTE, status, seconds)
    fields = {
        "method": request.method,
        "route": route_of(request),
        "status": status,
        "ms": round(seconds * 1000, 1),
        "bytes": sent[0],
    }
    event = "%(method)s %(route)s was answered %(status)d"
    logger.log(_level(request, status), event, fields, extra=fields)
    clear_contextvars()


def _level(request: HttpRequest, status: int) -> int:
    if status >= 500:
        return logging.WARNING
    is_quiet = request.path.startswith((settings.STATIC_URL, *_QUIET))
    return logging.DEBUG if is_quiet and status < 400 else logging.INFO


@receiver(user_logged_in)
def _bind_author(*, user: Any, **_: Any) -> None:
    log_context.bind(author=user.pk)
