"""The health checks `live`, `ready` and `workers`, with a time limit for queries."""

from dataclasses import dataclass, replace
from datetime import UTC
from functools import cache
from typing import Any

from django.conf import settings
from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from delivery.check_settings import load_server_problems
from delivery.humanise import counted
from delivery.monitoring.database_fault import DatabaseFault, fault_of_web_process, load_refusals
from delivery.monitoring.worker_heartbeat import ACTIVE_WITHIN_S, load_activity
from delivery.reports.reason_sentences import reason_sentence
from delivery.reports.worker_warnings import problem_sentences
from delivery.rules.reason import Reason, ReasonCode
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError

# During these faults no author can publish and no reader can confirm (docs/decisions/0049).
STOPS_THE_SITE = (ReasonCode.DISK_FULL, ReasonCode.READ_ONLY, ReasonCode.NO_PERMISSION)

MigrationName = tuple[str, str]

PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a health check, which passed if `reason` is empty.

    Reason and warnings are public. The details are for operators.
    """

    reason: str = ""
    details: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        return not self.reason

    def as_json(self) -> dict[str, Any]:
        """Return the JSON that all checks share."""
        status = "ok" if self.is_healthy else "unavailable"
        shared = {
            "status": status,
            "reasons": [self.reason] if self.reason else [],
            "release": str(settings.RELEASE),
        }
        return shared | ({"warnings": list(self.warnings)} if self.warnings else {})


HEALTHY = CheckResult()
CHECKS = ("live", "ready", "workers")


def run_check(check: str, host: str = "") -> CheckResult:
    """Run one of CHECKS.

    `live` does not query the database: if `live` fails, a supervisor restarts the site, which would
    not repair the database. `ready` needs UTF8, every migration and a database that accepts writes.
    `ready` also warns of unsuitable settings of the database server. `workers` needs an active
    worker whose writes succeed (on `host`, if a host is named). `workers` also warns of missing
    workers and of problems that workers report.
    """
    try:
        match check:
            case "ready":
                return _readiness.answer()
            case "workers":
                return _check_workers(host)
    except NoAnswerError as error:
        return no_answer(error)
    return HEALTHY


@cache
def _known_migrations() -> frozenset[MigrationName]:
    """Return every migration on disk. A process reads the migrations only once."""
    return frozenset(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def find_pending_migrations(cursor: CursorWrapper) -> tuple[str, ...]:
    """Return the migrations that the database lacks, as `app.name`, in order."""
    applied = MigrationRecorder(cursor.db).applied_migrations()
    return tuple(sorted(".".join(name) for name in _known_migrations() - set(applied)))


def check_ready(cursor: CursorWrapper) -> CheckResult:
    """Check the migrations, the encoding, writes, and the settings of the server."""
    result = migrations_result(find_pending_migrations(cursor))
    warnings = []
    for problem in load_server_problems(cursor):
        if problem.is_serious():
            result = CheckResult(str(problem.msg), (str(problem.hint),))
        else:
            warnings.append(str(problem.msg))
    if result.is_healthy:
        for fault in load_write_faults(cursor):
            if fault.code in STOPS_THE_SITE:
                result = CheckResult(result.reason or reason_sentence(fault))
            else:
                warnings.append(reason_sentence(fault))
    return replace(result, warnings=tuple(warnings))


def load_write_faults(
    cursor: CursorWrapper, own: DatabaseFault = fault_of_web_process
) -> list[Reason]:
    """Load the faults that keep the site from writing, each fault once.

    The faults are refusals of this connection, a fault that all workers report, and a fault that
    this process remembers from its `own` failed writes.
    """
    found = load_refusals(cursor)
    found += filter(None, (own.problem(), load_activity(cursor).write_fault))
    return list({fault.code: fault for fault in reversed(found)}.values())[::-1]


_readiness = BoundedQuery(check_ready)
_workers_anywhere = BoundedQuery(load_activity)


def _check_workers(host: str) -> CheckResult:
    query = _workers_anywhere
    if host:
        query = BoundedQuery(lambda cursor: load_activity(cursor, host=host))
    activity = query.answer()
    if activity.active:
        fault = activity.write_fault
        # WRITES_FAIL may mean only a few failed writes, so it is listed among the workers'
        # problems.
        if fault and fault.code is not ReasonCode.WRITES_FAIL:
            return CheckResult(reason_sentence(fault))
        missing = [] if host else _missing_workers(activity.active)
        return CheckResult(warnings=(*missing, *problem_sentences(activity)))
    if activity.last_heard_at is None:
        reason = _("No worker is running: none was started, or the last one stopped normally.")
        if host:
            reason = _(
                "No worker is running on this host: none was started, or the last one stopped "
                "normally."
            )
    else:
        sentence = _("No worker sent a heartbeat in the last {n} seconds. The last was at {time}.")
        if host:
            sentence = _(
                "No worker on this host sent a heartbeat in the last {n} seconds. The last was at "
                "{time}."
            )
        last = activity.last_heard_at.astimezone(UTC)
        reason = sentence.format(n=ACTIVE_WITHIN_S, time=f"{last:%Y-%m-%d %H:%M:%S} UTC")
    return CheckResult(reason, (_("this host is {host}").format(host=host),) if host else ())


def _missing_workers(active: int) -> list[str]:
    expected = settings.EXPECTED_WORKERS
    if expected is None or active >= expected:
        return []
    missing = counted(
        "{n} worker is active, but EXPECTED_WORKERS is {expected}.",
        "{n} workers are active, but EXPECTED_WORKERS is {expected}.",
        active,
        expected=expected,
    )
    return [missing]


def migrations_result(pending: tuple[str, ...]) -> CheckResult:
    """Return the result if these migrations are not applied."""
    if not pending:
        return HEALTHY
    reason = counted(
        "{n} migration is not applied. Apply it before this version serves visitors.",
        "{n} migrations are not applied. Apply them before this version serves visitors.",
        len(pending),
    )
    return CheckResult(
        reason, tuple(_("not applied: {name}").format(name=name) for name in pending)
    )


def no_answer(error: NoAnswerError) -> CheckResult:
    """Return the result if the database did not answer."""
    return CheckResult(_("The database does not answer."), (str(error),))


def health(request: HttpRequest, check: str) -> HttpResponse:
    """Answer a health check with 200, or 503 with the reasons."""
    result = run_check(check)
    response: HttpResponse
    if result.is_healthy and _is_prometheus(request):
        # Prometheus can scrape this address like any target. Prometheus' own metric `up` then shows
        # whether the check passed.
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
