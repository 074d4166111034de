"""Adds what processes counted to the table, and reads it. One statement each."""

from __future__ import annotations

import json

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.monitoring.metrics_buffer import MetricsBuffer, metrics_buffer


def flush(counted: MetricsBuffer = metrics_buffer) -> None:
    """
    Add what was counted to the table. Nothing is asked of the database where nothing was.

    Raises `django.db.Error` where it cannot be added; then it waits for the next time.
    """
    counts = counted.take()
    if not counts:
        return
    try:
        with connection.cursor() as cursor:
            # In order, so that two processes that add at once wait and never meet crosswise.
            cursor.execute(
                """
                INSERT INTO metric_value (name, labels, value)
                SELECT * FROM unnest(%s::text[], %s::text[], %s::float8[])
                              AS counted (name, labels, value)
                ORDER BY name, labels
                ON CONFLICT (name, labels) DO UPDATE SET value = metric_value.value + excluded.value
                """,
                [
                    [name for name, _ in counts],
                    [labels for _, labels in counts],
                    [float(value) for value in counts.values()],
                ],
            )
    except BaseException:
        counted.give_back(counts)
        raise


def load_metrics(cursor: CursorWrapper) -> dict[str, list[tuple[dict[str, str], float]]]:
    """All tallies: by name, the values with their labels. As many rows as there are labels."""
    cursor.execute("SELECT name, labels, value FROM metric_value ORDER BY name, labels")
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for name, labels, value in cursor.fetchall():
        found.setdefault(name, []).append((json.loads(labels), value))
    return found
