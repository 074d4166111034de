"""The workers' heartbeats, for operators. No other code depends on them."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet
from django.db.models.functions import Now

from delivery.models import WorkerHeartbeat

# A killed worker leaves its row behind.
EXPIRES_AFTER = "1 day"
ACTIVE_WITHIN_S = 60
ACTIVE_WITHIN = f"{ACTIVE_WITHIN_S} seconds"


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """The number of `active` workers and the last heartbeat, with its age in seconds."""

    active: int
    last_heard_at: datetime | None
    age_s: float | None


def beat(worker: uuid.UUID, *, host: str, pid: int, warning: str = "") -> None:
    """Record a heartbeat, and delete workers that were silent for a day.

    A deleted row is added again."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH expired AS (
                DELETE FROM worker AS silent WHERE silent.id = ANY (ARRAY(
                    SELECT id FROM worker
                    WHERE heard_at < clock_timestamp() - %s::interval AND id <> %s
                    FOR UPDATE SKIP LOCKED))
            )
            INSERT INTO worker (id, started_at, heard_at, host, pid, warning)
            VALUES (%s, clock_timestamp(), clock_timestamp(), %s, %s, %s)
            ON CONFLICT (id) DO UPDATE SET heard_at = clock_timestamp()
            """,
            [EXPIRES_AFTER, worker, worker, host, pid, warning],
        )


def load_activity(cursor: CursorWrapper, *, host: str = "") -> WorkerActivity:
    """Load the activity of all workers, or of the workers of one host."""
    cursor.execute(
        """
        SELECT count(*) FILTER (WHERE heard_at > clock_timestamp() - %(within)s::interval),
               max(heard_at),
               extract(epoch FROM clock_timestamp() - max(heard_at))::float8
        FROM worker WHERE %(host)s = '' OR host = %(host)s
        """,
        {"within": ACTIVE_WITHIN, "host": host},
    )
    return WorkerActivity(*cursor.fetchone())


def active_workers() -> QuerySet[WorkerHeartbeat]:
    """Return the workers that were heard from lately."""
    return WorkerHeartbeat.objects.filter(heard_at__gt=Now() - timedelta(seconds=ACTIVE_WITHIN_S))


def remove_worker(worker: uuid.UUID) -> None:
    """Record that a worker has stopped."""
    # This is SQL, because the ORM's delete() would open a transaction.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM worker WHERE id = %s", [worker])
