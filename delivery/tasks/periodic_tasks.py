"""
Lets one worker at a time go on an errand, mostly to the provider, and says when it is due again.

The lease is longer than the errand's calls may take. Whoever loses it does no harm: errands can be
done twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

# A worker that knows an errand takes it soon after it is due, or once it is back from another. What
# a setting named that is another now, or is needed no more, stays where it was left.
IS_ACTIVE = """(
    lease_until > clock_timestamp() OR due_at > clock_timestamp() - interval '1 hour')"""


@dataclass(frozen=True, slots=True)
class Lease:
    """An errand that is ours for now. `through_at`: up to when it was done before, if ever."""

    name: str
    owner: UUID
    started_at: datetime
    through_at: datetime | None
    failures: int


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """
    How an errand stands: its `failures` in a row, and what was `said` at the last of them.
    `is_gone_on`: workers still go on it, and have not left it for more than an hour.
    """

    name: str
    failures: int
    said: str
    through_at: datetime | None
    due_at: datetime
    is_gone_on: bool


def load_all() -> list[TaskStatus]:
    """Every errand that was ever gone on, by name."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT name, failures, said, through_at, due_at, {IS_ACTIVE} "  # noqa: S608
            "FROM errand ORDER BY name"
        )
        return [TaskStatus(*row) for row in cursor.fetchall()]


def acquire(
    name: str, owner: UUID, *, lease_s: float, after_publications: bool = False
) -> Lease | None:
    """
    Take an errand if it is due and nobody is on it; None otherwise.

    `after_publications`: it is also due once after every publication of a newsletter.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE errand SET owner = %(owner)s, started_at = clock_timestamp(),
                   lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
            WHERE name = %(name)s AND (lease_until IS NULL OR lease_until <= clock_timestamp())
              AND (due_at <= clock_timestamp() OR (%(after)s AND EXISTS (
                    SELECT FROM edition WHERE kind = 'newsletter' AND control <> 'scheduled'
                                          AND published_at > coalesce(started_at, '-infinity'))))
            RETURNING started_at, through_at, failures
            """,
            {"owner": owner, "lease": lease_s, "name": name, "after": after_publications},
        )
        row = cursor.fetchone()
    return Lease(name, owner, *row) if row else None


def ensure_exists(name: str, *, due_in_s: float = 0.0) -> None:
    """See to it that the errand is known; a new one is due in so many seconds."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO errand (name, due_at)
            VALUES (%s, clock_timestamp() + make_interval(secs => %s))
            ON CONFLICT (name) DO NOTHING
            """,
            [name, due_in_s],
        )


def make_due(cursor: CursorWrapper, names: Iterable[str]) -> None:
    """Have these errands gone on at once, where they are known. In the caller's transaction."""
    cursor.execute(
        "UPDATE errand SET due_at = clock_timestamp() WHERE name = ANY(%s)", [list(names)]
    )


def extend_lease(errand: Lease, *, lease_s: float) -> bool:
    """Keep it for so much longer; False if another has taken it."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE errand SET lease_until = clock_timestamp() + make_interval(secs => %s)
            WHERE name = %s AND owner = %s
            """,
            [lease_s, errand.name, errand.owner],
        )
        return bool(cursor.rowcount)


def finish(errand: Lease, *, again_in_s: float) -> None:
    """It went well; it is due again in so many seconds."""
    _end(errand, "through_at = started_at, failures = 0, said = ''", again_in_s)


def fail(errand: Lease, said: str, *, again_in_s: float) -> None:
    """It did not; why, and when to try again."""
    _end(errand, "failures = failures + 1, said = %s", again_in_s, said)


def release(errand: Lease) -> None:
    """It was interrupted: another may go at once."""
    _end(errand, "failures = failures", 0)


def _end(errand: Lease, change: str, again_in_s: float, *values: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE errand SET {change}, owner = NULL, lease_until = NULL,
                   due_at = clock_timestamp() + make_interval(secs => %s)
            WHERE name = %s AND owner = %s
            """,  # noqa: S608 -- a constant
            [*values, again_in_s, errand.name, errand.owner],
        )
