"""Tasks that only one worker at a time runs, under a lease.

A double run does no harm.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from delivery.models import PeriodicTask
from delivery.rules import after_call_or_lookup
from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)

# In SQL: whether workers still run a task. Workers run a task soon after it is due. If a task was
# due more than an hour ago, no setting names the task any more, but its row stays in the table.
IS_ACTIVE = """(
    lease_until > clock_timestamp() OR due_at > clock_timestamp() - interval '1 hour')"""


class TaskPostponedError(Exception):
    """The run could not do its work.

    `retry_after_s` is set if the provider named a time.
    """

    def __init__(self, reason: Reason, retry_after_s: float | None = None) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.retry_after_s = retry_after_s


class TaskInterruptedError(Exception):
    """The worker is stopping, or has lost its lease."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A task that this worker runs.

    `last_success_at`: when the task's last successful run began.
    """

    name: str
    owner: UUID
    started_at: datetime
    last_success_at: datetime | None
    failures: int


def acquire(name: str, *, lease_s: float, after_publications: bool = False) -> Lease | None:
    """Lease a task; return None unless the task is due and free.

    With `after_publications`, the task is also due once after each publication.
    """
    owner = uuid4()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE periodic_task SET owner = %(owner)s, started_at = clock_timestamp(),
                   lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
            WHERE name = %(name)s AND (lease_until IS NULL OR lease_until <= clock_timestamp())
              AND (due_at <= clock_timestamp() OR (%(after)s AND EXISTS (
                    SELECT FROM edition WHERE kind = 'newsletter' AND control <> 'scheduled'
                                          AND published_at > coalesce(started_at, '-infinity'))))
            RETURNING started_at, last_success_at, failures
            """,
            {"owner": owner, "lease": lease_s, "name": name, "after": after_publications},
        )
        row = cursor.fetchone()
    return Lease(name, owner, *row) if row else None


def ensure_exists(name: str, *, due_in_s: float = 0.0) -> None:
    """Register the task if it is missing; a new task is due in `due_in_s` seconds."""
    # Use one statement, because `bulk_create` would open a transaction. A worker that froze before
    # its commit would hold the row, and every other worker would wait for it.
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO periodic_task (name, due_at)
            VALUES (%s, clock_timestamp() + make_interval(secs => %s)) ON CONFLICT DO NOTHING
            """,
            [name, due_in_s],
        )


def make_due(names: Iterable[str]) -> None:
    """Make these tasks due now, in the caller's transaction."""
    PeriodicTask.objects.filter(name__in=names).update(due_at=Now())


def extend_lease(lease: Lease, *, lease_s: float) -> bool:
    """Extend the lease; return False if another worker has taken the task."""
    return bool(_leased(lease).update(lease_until=Now() + timedelta(seconds=lease_s)))


@contextmanager
def running(
    lease: Lease, *, again_in_s: float, retry_base_s: float, retry_cap_s: float
) -> Iterator[None]:
    """Record how a run ends.

    The task is due again in `again_in_s` seconds, or, after a failure, when a backoff has passed.
    """
    policy = after_call_or_lookup.Policy(retry_base_s, retry_cap_s, 1, (0.0,), True)
    backoff_s = max(
        retry_base_s / 2, after_call_or_lookup.delay_after(lease.failures + 1, 1.0, policy)
    )
    try:
        yield
    except TaskInterruptedError:
        # The task is due again at once, so that another worker can run it.
        _end(lease, 0)
    except TaskPostponedError as error:
        wait_s = max(error.retry_after_s or 0.0, backoff_s)
        logger.warning("task %s failed: %s; next try in %d s", lease.name, error.reason, wait_s)
        _fail(lease, error.reason, again_in_s=wait_s)
    except BaseException:
        _fail(lease, Reason.of(ReasonCode.BROKE_OFF), again_in_s=backoff_s)
        raise
    else:
        _end(lease, again_in_s, last_success_at=F("started_at"), failures=0, last_error="")


def _leased(lease: Lease) -> QuerySet[PeriodicTask]:
    return PeriodicTask.objects.filter(name=lease.name, owner=lease.owner)


def _fail(lease: Lease, reason: Reason, *, again_in_s: float) -> None:
    _end(lease, again_in_s, failures=F("failures") + 1, last_error=reason.dumps())


def _end(lease: Lease, again_in_s: float, **changes: Any) -> None:
    due_at = Now() + timedelta(seconds=again_in_s)
    _leased(lease).update(due_at=due_at, owner=None, lease_until=None, **changes)
