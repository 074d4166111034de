"""The workers' heartbeats, for operators. Sending does not depend on heartbeats."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet
from django.db.models.functions import Now

from delivery.models import WorkerHeartbeat
from delivery.rules.reason import WRITE_FAULTS, Reason, dumps_all

# A killed worker leaves its row behind.
EXPIRES_AFTER = "1 day"
ACTIVE_WITHIN_S = 60
ACTIVE_WITHIN = f"{ACTIVE_WITHIN_S} seconds"
# In SQL: whether a worker was heard from lately.
IS_ACTIVE_WORKER = f"heard_at > clock_timestamp() - interval '{ACTIVE_WITHIN}'"
# In SQL: one row about all workers, with the problems of the active workers.
WORKERS = f"""(
    SELECT count(*) FILTER (WHERE {IS_ACTIVE_WORKER}) AS active, max(heard_at) AS heard_at,
           array_agg(problems::text ORDER BY started_at, id)
               FILTER (WHERE {IS_ACTIVE_WORKER} AND problems <> '[]') AS problems
    FROM worker) AS worker"""  # noqa: S608 -- a constant


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """The number of `active` workers and the last heartbeat, with its age in seconds.

    `problems` has an entry for each active worker that reports any.
    """

    active: int
    last_heard_at: datetime | None
    age_s: float | None
    problems: tuple[tuple[Reason, ...], ...] = ()

    @property
    def write_fault(self) -> Reason | None:
        """The database fault, if all active workers report one."""
        return shared_write_fault(self.active, self.problems)


def shared_write_fault(active: int, problems: Sequence[Sequence[Reason]]) -> Reason | None:
    """Return the longest fault of the database if all `active` workers report a fault."""
    found = [[each for each in those if each.code in WRITE_FAULTS] for those in problems]
    faulty = [those[0] for those in found if those]
    return max(faulty, key=age_s) if faulty and len(faulty) == active else None


def age_s(problem: Reason) -> float:
    """Return the seconds that a problem has lasted; 0 if that is not known."""
    return float(problem.params.get("for_s", 0))


def beat(worker: uuid.UUID, *, host: str, pid: int, problems: Iterable[Reason] = ()) -> None:
    """Record a heartbeat with all current problems of a worker.

    Deletes the rows of workers that were silent for a day. If such a worker sends a heartbeat
    later, its row is added again.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH expired AS (
                DELETE FROM worker AS silent WHERE silent.id = ANY (ARRAY(
                    SELECT id FROM worker
                    WHERE heard_at < clock_timestamp() - %s::interval AND id <> %s
                    FOR UPDATE SKIP LOCKED))
            )
            INSERT INTO worker (id, started_at, heard_at, host, pid, problems)
            VALUES (%s, clock_timestamp(), clock_timestamp(), %s, %s, %s::jsonb)
            ON CONFLICT (id) DO UPDATE
            SET heard_at = clock_timestamp(), problems = excluded.problems
            """,
            [EXPIRES_AFTER, worker, worker, host, pid, dumps_all(problems)],
        )


def load_activity(cursor: CursorWrapper, *, host: str = "") -> WorkerActivity:
    """Load the activity of all workers, or of the workers of one host."""
    cursor.execute(
        f"""
        SELECT count(*) FILTER (WHERE {IS_ACTIVE_WORKER}),
               max(heard_at),
               extract(epoch FROM clock_timestamp() - max(heard_at))::float8,
               array_agg(problems::text ORDER BY started_at, id)
                   FILTER (WHERE {IS_ACTIVE_WORKER} AND problems <> '[]'),
               array_agg(warning ORDER BY started_at, id)
                   FILTER (WHERE {IS_ACTIVE_WORKER} AND warning <> '')
        FROM worker WHERE %(host)s = '' OR host = %(host)s
        """,  # noqa: S608 -- a constant
        {"host": host},
    )
    active, last_heard_at, age_s, problems, warnings = cursor.fetchone()
    found = [Reason.loads_all(text) for text in problems or ()]
    # A worker of an earlier release has at most one problem, in another column.
    found += [(reason,) for text in warnings or () if (reason := Reason.loads(text))]
    return WorkerActivity(active, last_heard_at, age_s, tuple(found))


def active_workers() -> QuerySet[WorkerHeartbeat]:
    """Return the workers that were heard from lately."""
    return WorkerHeartbeat.objects.filter(heard_at__gt=Now() - timedelta(seconds=ACTIVE_WITHIN_S))


def remove_worker(worker: uuid.UUID) -> None:
    """Record that a worker has stopped."""
    # This is SQL, because the ORM's delete() would open a transaction.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM worker WHERE id = %s", [worker])
