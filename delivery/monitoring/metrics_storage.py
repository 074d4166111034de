"""Metrics in the memory of a process, and the table that stores them. Thread-safe.

Each metric has one row for each combination of its labels.
"""

import json
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

# The name of a metric, and its labels as JSON with sorted names.
Key = tuple[str, str]

BUCKET = "_bucket"
SUM = "_sum"
INFINITY = "+Inf"


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram of durations, with the upper bounds of its buckets in seconds."""

    name: str
    bounds_s: tuple[float, ...]

    def bucket_of(self, seconds: float) -> str:
        """Return the label of the bucket for `seconds`: the bucket's upper bound."""
        index = bisect_left(self.bounds_s, seconds)
        return f"{self.bounds_s[index]:g}" if index < len(self.bounds_s) else INFINITY


class MetricsBuffer:
    """Counts that are not in the table yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Key] = Counter()

    def add(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        if by:
            with self._lock:
                self._counts[metric_key(name, labels)] += by  # type: ignore[assignment]

    def observe(self, histogram: Histogram, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""
        bucket = metric_key(histogram.name + BUCKET, labels | {"le": histogram.bucket_of(seconds)})
        with self._lock:
            self._counts[bucket] += 1
            self._counts[metric_key(histogram.name + SUM, labels)] += seconds  # type: ignore[assignment]

    def take(self) -> dict[Key, float]:
        """Remove and return all counts."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return dict(counts)

    def put_back(self, counts: Mapping[Key, float]) -> None:
        """Add back counts that could not be written."""
        with self._lock:
            self._counts.update(counts)


def metric_key(name: str, labels: Mapping[str, str]) -> Key:
    """Return the table's key for the name of a metric and its labels."""
    return _metric_key(name, *labels.items())


@lru_cache(maxsize=1024)
def _metric_key(name: str, *labels: tuple[str, str]) -> Key:
    return name, json.dumps(dict(labels), sort_keys=True)


metrics_buffer = MetricsBuffer()


def add_on_commit(name: str, by: float = 1, **labels: str) -> None:
    """Add to a counter when the transaction commits; without a transaction, add now."""
    transaction.on_commit(lambda: metrics_buffer.add(name, by, **labels))


def flush(buffer: MetricsBuffer = metrics_buffer) -> None:
    """Add the counts to the table; after a `django.db.Error`, keep them in the buffer."""
    counts = buffer.take()
    if not counts:
        return
    try:
        with connection.cursor() as cursor:
            # Sort the rows: two processes that flush at the same time must not deadlock.
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
    """Load all stored metrics: the values with their labels, by name."""
    cursor.execute("SELECT name, labels, value FROM metric_value ORDER BY name, labels")
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for name, labels, value in cursor.fetchall():
        found.setdefault(name, []).append((json.loads(labels), value))
    return found
