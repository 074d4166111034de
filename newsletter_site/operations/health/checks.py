"""The health checks: live, ready, workers. Each asks the database within a time limit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from delivery.monitoring import worker_heartbeat
from newsletter_site.operations.health import pending_migrations
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError


class HealthProblem(Enum):
    """Why a check fails. The comment names the parameters."""

    NO_ANSWER = auto()  # error
    MIGRATIONS_PENDING = auto()  # names
    NO_WORKER = auto()  # host, last_heard_at


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check; healthy without a problem."""

    problem: HealthProblem | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_healthy(self) -> bool:
        """Whether the check passed."""
        return self.problem is None


HEALTHY = CheckResult()

_pending_migrations = BoundedQuery(pending_migrations.find_pending)
_workers_anywhere = BoundedQuery(lambda cursor: worker_heartbeat.load_activity(cursor))


def check_live() -> CheckResult:
    """The process answers. Restarting it would not bring a database back, so none is asked."""
    return HEALTHY


def check_ready() -> CheckResult:
    """The database answers and has every migration that this code knows."""
    try:
        return migrations_result(_pending_migrations.answer())
    except NoAnswerError as error:
        return no_answer(error)


def check_workers(host: str = "") -> CheckResult:
    """A worker was heard from lately, of this host where one is named."""
    query = _workers_anywhere
    if host:
        query = BoundedQuery(lambda cursor: worker_heartbeat.load_activity(cursor, host=host))
    try:
        activity = query.answer()
    except NoAnswerError as error:
        return no_answer(error)
    if activity.active:
        return HEALTHY
    return CheckResult(
        HealthProblem.NO_WORKER, {"host": host, "last_heard_at": activity.last_heard_at}
    )


def migrations_result(pending: tuple[str, ...]) -> CheckResult:
    """The result where these migrations are not applied."""
    return CheckResult(HealthProblem.MIGRATIONS_PENDING, {"names": pending}) if pending else HEALTHY


def no_answer(error: NoAnswerError) -> CheckResult:
    """The result where the database gave no answer."""
    return CheckResult(HealthProblem.NO_ANSWER, {"error": str(error)})


CHECKS: dict[str, Callable[[], CheckResult]] = {
    "live": check_live,
    "ready": check_ready,
    "workers": check_workers,
}
