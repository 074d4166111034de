"""
The three checks: live, ready, workers. Each asks within its bound and gives a verdict.

`live` asks nobody: a process that answers lives, and one that is restarted because its database is
away only comes back to the same. `ready` says whether visitors may be sent here.
"""

from __future__ import annotations

from collections.abc import Callable

from delivery.monitoring import worker_heartbeat
from newsletter_site.operations.health import pending_migrations
from newsletter_site.operations.health.check_result import (
    HEALTHY,
    CheckResult,
    no_answer,
    of_migrations,
    of_workers,
)
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError

Check = Callable[[], CheckResult]

_missing_migrations = BoundedQuery(pending_migrations.find_pending)
_workers_anywhere = BoundedQuery(lambda cursor: worker_heartbeat.load_activity(cursor))


def live() -> CheckResult:
    """The process answers."""
    return HEALTHY


def ready() -> CheckResult:
    """The database answers, and has every migration that this code knows."""
    try:
        return of_migrations(_missing_migrations.answer())
    except NoAnswerError as error:
        return no_answer(str(error))


def workers() -> CheckResult:
    """A worker was heard from lately."""
    try:
        return of_workers(_workers_anywhere.answer(), host="")
    except NoAnswerError as error:
        return no_answer(str(error))


def workers_of(host: str) -> CheckResult:
    """A worker of this host was heard from lately."""
    try:
        asked = BoundedQuery(lambda cursor: worker_heartbeat.load_activity(cursor, host=host))
        return of_workers(asked.answer(), host)
    except NoAnswerError as error:
        return no_answer(str(error))


CHECKS: dict[str, Check] = {"live": live, "ready": ready, "workers": workers}
