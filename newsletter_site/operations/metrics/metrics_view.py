"""
`/metrics`: how everything stands, for Prometheus. It asks once, within its bound, and translates.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import ProgrammingError, transaction
from django.db.backends.utils import CursorWrapper
from django.http import HttpRequest, HttpResponse, JsonResponse

from delivery.interface import database_identity
from delivery.monitoring import metrics_table
from delivery.reports.read_queue_snapshot import read_snapshot
from newsletter_site.operations.health import pending_migrations
from newsletter_site.operations.health.check_result import CheckResult, no_answer, of_migrations
from newsletter_site.operations.health.health_views import SAMPLES
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError
from newsletter_site.operations.metrics.database_metrics import read_database_stats
from newsletter_site.operations.metrics.gauges import samples_of
from newsletter_site.operations.metrics.metrics_access import MetricsAccess, check_access
from newsletter_site.operations.metrics.prometheus_text import exposition
from subscribers.importing.import_state import standing_imports

# Prometheus gives a scrape ten seconds, unless it is told otherwise.
WITHIN_S = 8.0


def _read(cursor: CursorWrapper) -> bytes | CheckResult:
    """All of it; or that migrations lack, where something could not be read because of that."""
    missing = pending_migrations.find_pending(cursor)
    try:
        with transaction.atomic():
            return _all_of_it(cursor, missing)
    except ProgrammingError:
        verdict = of_migrations(missing)
        if verdict.is_well:
            raise
        return verdict


def _all_of_it(cursor: CursorWrapper, missing_migrations: Sequence[str]) -> bytes:
    tallied, database = metrics_table.load_metrics(cursor), database_identity.short_name(cursor)
    gauges = samples_of(
        read_snapshot(cursor),
        standing_imports(cursor),
        read_database_stats(cursor),
        missing_migrations,
        takes_webhooks=bool(settings.POSTMARK_WEBHOOK_USER and settings.POSTMARK_WEBHOOK_PASSWORD),
    )
    return exposition(tallied, gauges, database=database)


_everything = BoundedQuery(_read, within_s=WITHIN_S)


def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics, or as little as possible."""
    match check_access(request.META, settings.METRICS_TOKEN):
        case MetricsAccess.YES:
            answer = _measured()
        case MetricsAccess.WRONG_TOKEN:
            answer = HttpResponse(status=401)
            answer["WWW-Authenticate"] = "Bearer"
        case MetricsAccess.NOT_FROM_HERE:
            answer = HttpResponse(status=403)
    answer["Cache-Control"] = "no-store"
    return answer


def _measured() -> HttpResponse:
    try:
        found = _everything.answer()
    except NoAnswerError as error:
        found = no_answer(str(error))
    if isinstance(found, CheckResult):
        return JsonResponse(found.as_json(), status=503)
    return HttpResponse(found, content_type=SAMPLES)
