"""
`/metrics`: how everything stands, for Prometheus. It asks once, within its bound, and translates.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import ProgrammingError, transaction
from django.db.backends.utils import CursorWrapper
from django.http import HttpRequest, HttpResponse, JsonResponse

from delivery.queue import tally
from delivery.queue.identity import short_name
from delivery.queue.standing import standing
from newsletter_site.operating import migrations
from newsletter_site.operating.asked_in_time import AskedInTime, NoAnswerError
from newsletter_site.operating.database_standing import database_standing
from newsletter_site.operating.exposition import exposition
from newsletter_site.operating.gauges import samples_of
from newsletter_site.operating.probe_views import SAMPLES
from newsletter_site.operating.verdict import Verdict, no_answer, of_migrations
from newsletter_site.operating.who_may_measure import Shown, who_may_measure
from subscribers.importing.standing import standing_imports

# Prometheus gives a scrape ten seconds, unless it is told otherwise.
WITHIN_S = 8.0


def _read(cursor: CursorWrapper) -> bytes | Verdict:
    """All of it; or that migrations lack, where something could not be read because of that."""
    missing = migrations.missing(cursor)
    try:
        with transaction.atomic():
            return _all_of_it(cursor, missing)
    except ProgrammingError:
        verdict = of_migrations(missing)
        if verdict.is_well:
            raise
        return verdict


def _all_of_it(cursor: CursorWrapper, missing_migrations: Sequence[str]) -> bytes:
    tallied, database = tally.read(cursor), short_name(cursor)
    gauges = samples_of(
        standing(cursor),
        standing_imports(cursor),
        database_standing(cursor),
        missing_migrations,
        takes_webhooks=bool(settings.POSTMARK_WEBHOOK_USER and settings.POSTMARK_WEBHOOK_PASSWORD),
    )
    return exposition(tallied, gauges, database=database)


_everything = AskedInTime(_read, within_s=WITHIN_S)


def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics, or as little as possible."""
    match who_may_measure(request.META, settings.METRICS_TOKEN):
        case Shown.YES:
            answer = _measured()
        case Shown.WRONG_TOKEN:
            answer = HttpResponse(status=401)
            answer["WWW-Authenticate"] = "Bearer"
        case Shown.NOT_FROM_HERE:
            answer = HttpResponse(status=403)
    answer["Cache-Control"] = "no-store"
    return answer


def _measured() -> HttpResponse:
    try:
        found = _everything.answer()
    except NoAnswerError as error:
        found = no_answer(str(error))
    if isinstance(found, Verdict):
        return JsonResponse(found.as_json(), status=503)
    return HttpResponse(found, content_type=SAMPLES)
