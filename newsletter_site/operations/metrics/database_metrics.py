"""PostgreSQL's statistics: long transactions and dead rows, which slow sending."""

import platform
from typing import Any

import django
from django.conf import settings
from django.db.backends.utils import CursorWrapper

HOT_TABLES = (
    "batch", "delivery", "attempt", "idempotency", "metric_value", "worker", "send_rate",
    "periodic_task",
)  # fmt: skip


def read_database_gauges(cursor: CursorWrapper) -> dict[str, Any]:
    """Read the statistics of this database, by gauge.

    Sessions of other roles are visible only with `pg_read_all_stats`.
    """
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
    others = platform.python_version(), django.get_version(), version.split()[0]
    return {
        "homing_database_sessions": sessions,
        "homing_database_oldest_transaction_seconds": max(0.0, transaction_s),
        "homing_database_oldest_snapshot_seconds": max(0.0, snapshot_s),
        "homing_database_dead_rows": {table: dead for table, dead, _ in rows},
        "homing_database_live_rows": {table: live for table, _, live in rows},
        "homing_build_info": {(*settings.RELEASE, *others): 1},
    }
