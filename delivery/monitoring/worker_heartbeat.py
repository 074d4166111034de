"""Which workers there are. For people who look; nothing depends on it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.backends.utils import CursorWrapper

# A worker that was killed cannot say good-bye; its row goes after a day.
EXPIRES_AFTER = "1 day"
ACTIVE_WITHIN_S = 60
ACTIVE_WITHIN = f"{ACTIVE_WITHIN_S} seconds"


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """How many workers were heard from `lately`, when one was last (`at`), and how long ago."""

    lately: int
    at: datetime | None
    ago_s: float | None


def register_worker(worker: uuid.UUID, *, host: str, pid: int, warning: str = "") -> None:
    """A worker begins, and says what it found wrong, if anything."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM worker WHERE heard_at < clock_timestamp() - %s::interval", [EXPIRES_AFTER]
        )
    beat(worker, host=host, pid=pid, warning=warning)


def beat(worker: uuid.UUID, *, host: str, pid: int, warning: str = "") -> None:
    """
    A worker is there. Its row may have gone meanwhile: it was silent for a day, or a backup that
    does not know it was put back under it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO worker (id, started_at, heard_at, host, pid, warning)
            VALUES (%s, clock_timestamp(), clock_timestamp(), %s, %s, %s)
            ON CONFLICT (id) DO UPDATE SET heard_at = clock_timestamp()
            """,
            [worker, host, pid, warning],
        )


def load_activity(cursor: CursorWrapper, *, host: str = "") -> WorkerActivity:
    """What was heard of the workers, or of those of one host. A few rows, whatever was sent."""
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


def load_warnings() -> list[str]:
    """What the workers that are running found wrong when they started, each thing once."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT warning FROM worker
            WHERE warning <> '' AND heard_at > clock_timestamp() - %s::interval
            ORDER BY warning
            """,
            [ACTIVE_WITHIN],
        )
        return [warning for (warning,) in cursor.fetchall()]


def remove_worker(worker: uuid.UUID) -> None:
    """A worker ends in good order."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM worker WHERE id = %s", [worker])
