"""
What a migration waits for, and who holds it, in words.

Of another session its number, age and kind of work are told, never the words of its statement:
those hold addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

# First words of statements that say what a session is doing and nothing of whom it is about.
KINDS = frozenset(
    """
    ALTER ANALYZE BEGIN CALL CLUSTER COMMIT COPY CREATE DELETE DO DROP FETCH INSERT LOCK MERGE
    REFRESH REINDEX ROLLBACK SAVEPOINT SELECT SET TRUNCATE UPDATE VACUUM VALUES WITH
    """.split()  # noqa: SIM905 -- read as a list of words
)


@dataclass(frozen=True, slots=True)
class Holder:
    """
    A session that a migration waits for.

    `open_s`: seconds since its transaction began. What this role may not see of it is None or
    empty.
    """

    pid: int
    open_s: float | None
    state: str
    query: str
    backend: str

    def __str__(self) -> str:
        doing = {
            "active": f"in {self.kind}",
            "idle in transaction": f"idle after {self.kind}",
            "idle in transaction (aborted)": "idle after a failure",
        }.get(self.state, "")
        if self.backend not in ("", "client backend"):
            doing = self.backend
        since = f"its transaction open for {self.open_s:.0f} s" if self.open_s is not None else ""
        told = ", ".join(filter(None, (since, doing)))
        return f"session {self.pid}" + (f" ({told})" if told else "")

    @property
    def kind(self) -> str:
        """The first word of its statement, where that is one of SQL's own."""
        word = self.query.split(maxsplit=1)[0].upper() if self.query.strip() else ""
        return word if word in KINDS else "a statement"


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that is waited for: a kind of lock, the table if it is one, and its holders."""

    kind: str
    table: str
    holders: tuple[Holder, ...]

    def __str__(self) -> str:
        if self.kind == "advisory":
            what = "another migrate that is at work"
        elif self.kind in ("virtualxid", "transactionid"):
            what = "a transaction that began before it"
        else:
            what = f'a lock on table "{self.table}"' if self.table else "a lock"
        by = ", ".join(str(holder) for holder in self.holders)
        return what + (f": {by}" if by else "")


# A session that builds an index concurrently cannot be asked for its number behind a pooler, so
# it is found by its work.
_WAITS = """
    SELECT wanted.locktype, coalesce(held_on.relname, ''), holder.pid,
           extract(epoch FROM clock_timestamp() - session.xact_start)::float8,
           coalesce(session.state, ''), coalesce(session.query, ''),
           coalesce(session.backend_type, '')
    FROM pg_locks AS wanted
    CROSS JOIN LATERAL (SELECT DISTINCT pid FROM unnest(pg_blocking_pids(wanted.pid)) AS pid)
        AS holder
    LEFT JOIN pg_class AS held_on ON held_on.oid = wanted.relation
    LEFT JOIN pg_stat_activity AS session ON session.pid = holder.pid
    WHERE NOT wanted.granted
      AND (wanted.pid = %s OR (%s AND wanted.pid IN (
               SELECT pid FROM pg_stat_progress_create_index
               WHERE datname = current_database())))
    ORDER BY session.xact_start NULLS LAST, holder.pid
    LIMIT 5
"""


def wait_of(cursor: CursorWrapper, session: int | None) -> Wait | None:
    """What `session` waits for now; None: whatever builds an index concurrently."""
    cursor.execute(_WAITS, [session, session is None])
    rows: Sequence[tuple[str, str, int, float | None, str, str, str]] = cursor.fetchall()
    if not rows:
        return None
    return Wait(rows[0][0], rows[0][1], tuple(Holder(*row[2:]) for row in rows))
