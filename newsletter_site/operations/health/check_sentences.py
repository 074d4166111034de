"""The words of check results: reasons for anyone, details for the operator's own shell."""

from datetime import UTC, datetime
from typing import Any

from delivery.monitoring.worker_heartbeat import ACTIVE_WITHIN_S
from newsletter_site.operations.health.checks import CheckResult, HealthProblem


def result_as_json(result: CheckResult, *, with_details: bool = False) -> dict[str, Any]:
    """The result in the one shape that all checks have."""
    reason, details = _words(result.problem, **result.params) if result.problem else ("", [])
    found: dict[str, Any] = {
        "status": "ok" if result.is_healthy else "unavailable",
        "reasons": [reason] if reason else [],
    }
    return found | ({"details": details} if with_details else {})


def _words(problem: HealthProblem, **params: Any) -> tuple[str, list[str]]:
    match problem:
        case HealthProblem.NO_ANSWER:
            return "The database does not answer.", [params["error"]]
        case HealthProblem.MIGRATIONS_PENDING:
            names = params["names"]
            count = "1 migration is" if len(names) == 1 else f"{len(names)} migrations are"
            return (
                f"{count} not applied yet; until then this version must not be sent visitors.",
                [f"not applied: {name}" for name in names],
            )
        case HealthProblem.NO_WORKER:
            host = params["host"]
            return (
                _no_worker(" on this host" if host else "", params["last_heard_at"]),
                [f"this host is {host}"] if host else [],
            )


def _no_worker(where: str, last_heard_at: datetime | None) -> str:
    if last_heard_at is None:
        return (
            f"No worker{where} is known: none was started, or the last one ended as it was asked "
            "to."
        )
    return (
        f"No worker{where} was heard from in the last {ACTIVE_WITHIN_S} seconds; the last time was "
        f"{last_heard_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC."
    )
