"""The health checks: live, ready, workers. Each asks the database within a time limit. The view for
probes is answered by `ops_middleware.py`."""

from dataclasses import dataclass
from datetime import UTC
from functools import cache
from typing import Any

from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse

from delivery.monitoring.worker_heartbeat import ACTIVE_WITHIN_S, load_activity
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError

MigrationName = tuple[str, str]

PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Healthy without a reason. Anyone may read the reason, only operators the details."""

    reason: str = ""
    details: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        return not self.reason

    def as_json(self) -> dict[str, Any]:
        """The one shape that all checks have."""
        status = "ok" if self.is_healthy else "unavailable"
        return {"status": status, "reasons": [self.reason] if self.reason else []}


HEALTHY = CheckResult()
CHECKS = ("live", "ready", "workers")


def run_check(check: str, host: str = "") -> CheckResult:
    """Run one of CHECKS: `live` asks no database, as a restart would not bring one back; `ready`
    needs every migration; `workers` needs an active worker, of `host` if one is named."""
    try:
        match check:
            case "ready":
                return migrations_result(_pending_migrations.answer())
            case "workers":
                return _check_workers(host)
    except NoAnswerError as error:
        return no_answer(error)
    return HEALTHY


@cache
def _known_migrations() -> dict[MigrationName, tuple[MigrationName, ...]]:
    """Every migration on disk with those it replaces, read once in a process."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return {name: tuple(migration.replaces) for name, migration in loader.disk_migrations.items()}


def find_pending_migrations(cursor: CursorWrapper) -> tuple[str, ...]:
    """Return the migrations that the database lacks, as `app.name`, in order. It may have more."""
    applied = set(MigrationRecorder(cursor.db).applied_migrations())
    return tuple(
        sorted(
            ".".join(name)
            for name, replaced in _known_migrations().items()
            if name not in applied and not (replaced and applied.issuperset(replaced))
        )
    )


_pending_migrations = BoundedQuery(find_pending_migrations)
_workers_anywhere = BoundedQuery(load_activity)


def _check_workers(host: str) -> CheckResult:
    query = _workers_anywhere
    if host:
        query = BoundedQuery(lambda cursor: load_activity(cursor, host=host))
    activity = query.answer()
    if activity.active:
        return HEALTHY
    where = " on this host" if host else ""
    if activity.last_heard_at is None:
        reason = (
            f"No worker{where} is known: none was started, or the last one ended as it was asked "
            "to."
        )
    else:
        reason = (
            f"No worker{where} was heard from in the last {ACTIVE_WITHIN_S} seconds; the last time "
            f"was {activity.last_heard_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC."
        )
    return CheckResult(reason, (f"this host is {host}",) if host else ())


def migrations_result(pending: tuple[str, ...]) -> CheckResult:
    """The result where these migrations are not applied."""
    if not pending:
        return HEALTHY
    count = "1 migration is" if len(pending) == 1 else f"{len(pending)} migrations are"
    return CheckResult(
        f"{count} not applied yet; until then this version must not be sent visitors.",
        tuple(f"not applied: {name}" for name in pending),
    )


def no_answer(error: NoAnswerError) -> CheckResult:
    """The result where the database gave no answer."""
    return CheckResult("The database does not answer.", (str(error),))


def health(request: HttpRequest, check: str) -> HttpResponse:
    """Answer a probe with 200, or 503 with the reasons."""
    result = run_check(check)
    response: HttpResponse
    if result.is_healthy and _is_prometheus(request):
        # Prometheus asks it like any other target, and `up` is the result.
        response = HttpResponse(
            f'homing_health{{check="{check}"}} 1\n', content_type=PROMETHEUS_TEXT
        )
    else:
        response = JsonResponse(result.as_json(), status=200 if result.is_healthy else 503)
    response["Cache-Control"] = "no-store"
    return response


def _is_prometheus(request: HttpRequest) -> bool:
    accepted = request.headers.get("Accept", "")
    return "application/openmetrics-text" in accepted or "version=0.0.4" in accepted
