"""Count running, stalled and refused imports for the metrics."""

from typing import Any

from django.db.backends.utils import CursorWrapper


def read_import_gauges(cursor: CursorWrapper) -> dict[str, Any]:
    """Return the gauges by name. The query reads all imports, because there are few."""
    cursor.execute(
        """
        SELECT state, count(*),
               extract(epoch FROM clock_timestamp() - min(coalesce(lease_until, requested_at))
                   FILTER (WHERE lease_until IS NULL OR lease_until < clock_timestamp()))::float8
        FROM subscriber_import
        WHERE state IN ('checking', 'waiting', 'running', 'undoing')
           OR (state = 'refused' AND finished_at > clock_timestamp() - interval '1 day')
        GROUP BY state
        """
    )
    counts = {state: (number, idle_s) for state, number, idle_s in cursor}
    refused, _ = counts.pop("refused", (0, None))
    return {
        "homing_imports": {state: number for state, (number, _) in counts.items()},
        "homing_imports_refused": refused,
        "homing_import_stalled_seconds": max(
            (idle_s or 0 for _, idle_s in counts.values()), default=0
        ),
    }
