"""PostgreSQL's own statistics: long transactions and dead rows, which slow sending down."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

HOT_TABLES = (
    "batch", "delivery", "attempt", "idempotency", "metric_value", "worker", "send_rate",
    "periodic_task",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DatabaseStats:
    """Ages in seconds, 0 without one. Only `pg_read_all_stats` shows sessions of other roles."""

    version: str
    oldest_transaction_s: float
    oldest_snapshot_s: float
    sessions: int
    dead_rows: Mapping[str, int]
    live_rows: Mapping[str, int]


def read_database_stats(cursor: CursorWrapper) -> DatabaseStats:
    """Read the statistics of this database."""
    cursor.execute(
        """
        SELECT current_setting('server_version'),
               coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float8,
               greatest(
                   coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)
                       FILTER (WHERE backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)), 0),
                   (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(prepared)), 0)
                    FROM pg_prepared_xacts WHERE database = current_database()))::float8,
               count(*)
        FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend'
          AND pid <> pg_backend_pid()
        """
    )
    version, transaction_s, snapshot_s, sessions = cursor.fetchone()
    cursor.execute(
        """
        SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables
        WHERE relid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)
        """,
        [list(HOT_TABLES)],
    )
    rows = cursor.fetchall()
    return DatabaseStats(
        version=str(version).split()[0],
        oldest_transaction_s=max(0.0, transaction_s),
        oldest_snapshot_s=max(0.0, snapshot_s),
        sessions=sessions,
        dead_rows={table: dead for table, dead, _ in rows},
        live_rows={table: live for table, _, live in rows},
    )
