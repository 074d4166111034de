"""`/metrics` for Prometheus, read in one query with a time limit."""

from http import HTTPStatus

from django.conf import settings
from django.db import ProgrammingError, transaction
from django.db.backends.utils import CursorWrapper
from django.http import HttpRequest, HttpResponse, JsonResponse

from delivery.interface import database_identity
from delivery.monitoring import metrics_storage
from delivery.reports.queue_snapshot import read_snapshot
from newsletter_site.operations.health.checks import (
    CheckResult,
    find_pending_migrations,
    migrations_result,
    no_answer,
)
from newsletter_site.operations.health.health_views import PROMETHEUS_TEXT
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError
from newsletter_site.operations.metrics.database_metrics import read_database_stats
from newsletter_site.operations.metrics.metrics_access import check_access
from newsletter_site.operations.metrics.metrics_catalogue import read_gauges
from newsletter_site.operations.metrics.prometheus_text import exposition
from subscribers.importing.import_state import load_open_imports

# Prometheus gives a scrape ten seconds by default.
TIMEOUT_S = 8.0


def _read(cursor: CursorWrapper) -> bytes | CheckResult:
    pending = find_pending_migrations(cursor)
    try:
        with transaction.atomic():
            counters = metrics_storage.load_metrics(cursor)
            gauges = read_gauges(
                read_snapshot(cursor),
                load_open_imports(cursor),
                read_database_stats(cursor),
                pending_migrations=len(pending),
                webhooks_configured=bool(
                    settings.POSTMARK_WEBHOOK_USER and settings.POSTMARK_WEBHOOK_PASSWORD
                ),
            )
            return exposition(counters, gauges, database=database_identity.short_name(cursor))
    except ProgrammingError:
        result = migrations_result(pending)
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
        found = no_answer(error)
    if isinstance(found, CheckResult):
        return JsonResponse(found.as_json(), status=503)
    return HttpResponse(found, content_type=PROMETHEUS_TEXT)
