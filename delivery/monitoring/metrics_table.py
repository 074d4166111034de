"""Adds what a process counted to the table of metrics, and loads them."""

import json

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.monitoring.metrics_buffer import MetricsBuffer, metrics_buffer


def flush(buffer: MetricsBuffer = metrics_buffer) -> None:
    """Add the counts to the table. After `django.db.Error` they wait for the next flush."""
    counts = buffer.take()
    if not counts:
        return
    try:
        with connection.cursor() as cursor:
            # In order, so that two processes that flush at once cannot deadlock.
            cursor.execute(
                """
                INSERT INTO metric_value (name, labels, value)
                SELECT * FROM unnest(%s::text[], %s::text[], %s::float8[])
                              AS counted (name, labels, value)
                ORDER BY name, labels
                ON CONFLICT (name, labels)
                DO UPDATE SET value = metric_value.value + excluded.value
                """,
                [
                    [name for name, _ in counts],
                    [labels for _, labels in counts],
                    [float(value) for value in counts.values()],
                ],
            )
    except BaseException:
        buffer.put_back(counts)
        raise


def load_metrics(cursor: CursorWrapper) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Load all stored metrics: by name, the values with their labels."""
    cursor.execute("SELECT name, labels, value FROM metric_value ORDER BY name, labels")
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for name, labels, value in cursor.fetchall():
        found.setdefault(name, []).append((json.loads(labels), value))
    return found
