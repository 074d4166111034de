"""`/metrics` for Prometheus, with a time limit."""

import hashlib
import hmac
from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address

from django.conf import settings
from django.db import ProgrammingError, transaction
from django.db.backends.utils import CursorWrapper
from django.http import HttpRequest, HttpResponse, JsonResponse

from delivery.interface import database_identity
from delivery.monitoring import metrics_storage
from newsletter_site.operations.health import health_checks
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError
from newsletter_site.operations.metrics.metrics_catalogue import read_gauges
from newsletter_site.operations.metrics.prometheus_text import exposition

# By default, Prometheus waits longer: ten seconds.
TIMEOUT_S = 8.0
# Headers that proxies add. A request with one of these headers came through a proxy, perhaps from
# another machine.
ADDED_BY_PROXIES = (
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
)


def _read(cursor: CursorWrapper) -> bytes | health_checks.CheckResult:
    pending = health_checks.find_pending_migrations(cursor)
    try:
        with transaction.atomic():
            counters = metrics_storage.load_metrics(cursor)
            gauges = read_gauges(cursor) | {"homing_migrations_pending": len(pending)}
            return exposition(counters, gauges, database=database_identity.short_name(cursor))
    except ProgrammingError:
        result = health_checks.migrations_result(pending)
        if result.is_healthy:
            raise
        return result


_query = BoundedQuery(_read, timeout_s=TIMEOUT_S)


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with all metrics, or refuse with an empty body."""
    status = check_access(request.META, settings.METRICS_TOKEN)
    response = _measure() if status == HTTPStatus.OK else HttpResponse(status=status)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    response["Cache-Control"] = "no-store"
    return response


def _measure() -> HttpResponse:
    try:
        found = _query.answer()
    except NoAnswerError as error:
        found = health_checks.no_answer(error)
    if isinstance(found, health_checks.CheckResult):
        return JsonResponse(found.as_json(), status=503)
    return HttpResponse(found, content_type=health_checks.PROMETHEUS_TEXT)


def check_access(meta: Mapping[str, object], token: str) -> HTTPStatus:
    """Return 200 if a request may read the metrics, otherwise 401 or 403.

    `meta` contains the WSGI variables of the request. If `token` is empty, the request must come
    from this machine, without a proxy, and its Host must be a loopback name. A proxy would forward
    strangers' requests, and the host name of a hostile web page may resolve to this machine.
    """
    if token:
        given = str(meta.get("HTTP_AUTHORIZATION", ""))
        # Compare hashes, because `compare_digest` on the tokens themselves would reveal whether
        # their lengths differ.
        hashes = (hashlib.sha256(each.encode()).digest() for each in (given, f"Bearer {token}"))
        is_right = hmac.compare_digest(*hashes)
        return HTTPStatus.OK if is_right else HTTPStatus.UNAUTHORIZED
    is_local = (
        _is_loopback(str(meta.get("REMOTE_ADDR", "")))
        and not any(name in meta for name in ADDED_BY_PROXIES)
        and _names_loopback(str(meta.get("HTTP_HOST", "")))
    )
    return HTTPStatus.OK if is_local else HTTPStatus.FORBIDDEN


def _names_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return name.lower() == "localhost" or _is_loopback(name.strip("[]"))


def _is_loopback(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return bool((getattr(found, "ipv4_mapped", None) or found).is_loopback)
