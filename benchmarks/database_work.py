"""Measure the database's work between two moments with the database's counters.

The work is counted as updated rows, and as bytes of write-ahead log. The first change of a page
after a checkpoint writes the whole page into the log. So callers check whether a checkpoint
occurred during the measurement. `tests/database_cost` uses this module too.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

# With these settings no automatic checkpoint occurs within a run.
NO_CHECKPOINTS = {"checkpoint_timeout": "1h", "max_wal_size": "8GB"}

REPORTED_WITHIN_S = 10.0
OTHER_SESSIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
      AND backend_start > %s
"""


@dataclass(frozen=True, slots=True)
class Changes:
    """Updates of a table's rows, and how many new versions stayed in the same page."""

    updated: int
    hot: int


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes of write-ahead log, changes by table, and whether a checkpoint occurred."""

    wal_bytes: int
    changes: Mapping[str, Changes]
    had_a_checkpoint: bool


class DatabaseWork:
    """Counters of the work since this object was created.

    The connection must commit every statement.
    """

    def __init__(self, database: psycopg.Connection[Any], tables: Sequence[str]) -> None:
        self._database = database
        self._began_at = self._one("SELECT clock_timestamp()")
        self._changed = {table: changes_of(database, table) for table in tables}
        self._redo_point = self._one("SELECT redo_lsn::text FROM pg_control_checkpoint()")
        self._began = self._one("SELECT pg_current_wal_insert_lsn()::text")

    def so_far(self) -> Work:
        """Return the work since this object was made, including that of ended sessions."""
        self._wait_for_reports()
        written = self._one("SELECT pg_current_wal_insert_lsn() - %s::pg_lsn", self._began)
        changes: dict[str, Changes] = {}
        for table, before in self._changed.items():
            now = changes_of(self._database, table)
            changes[table] = Changes(now.updated - before.updated, now.hot - before.hot)
        redo_point = self._one("SELECT redo_lsn::text FROM pg_control_checkpoint()")
        return Work(int(written), changes, redo_point != self._redo_point)

    def _wait_for_reports(self) -> None:
        """Wait until other sessions have reported their work.

        A session reports the rest of its work when it ends, shortly after its program.
        """
        until = time.monotonic() + REPORTED_WITHIN_S
        while self._one(OTHER_SESSIONS, self._began_at):
            if time.monotonic() > until:
                raise RuntimeError("Another session still uses the database.")
            time.sleep(0.05)

    def _one(self, sql: str, *values: Any) -> Any:
        row = self._database.execute(sql, values).fetchone()
        assert row is not None
        return row[0]


def changes_of(database: psycopg.Connection[Any], table: str) -> Changes:
    """Return all changes of a table so far."""
    # Report this session's work at once.
    database.execute("SELECT pg_stat_force_next_flush()")
    row = database.execute(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = %s", [table]
    ).fetchone()
    assert row is not None, table
    return Changes(*row)
