"""
Counts in memory what happens in this process, until it is added to the table
(`monitoring/metrics_table.py`).

Never a statement, so that counting may stand anywhere; safe for any number of threads. Names and
labels are those that Prometheus sees, and labels take few values: each pair is a row for good.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

# Name, and labels as JSON with their names in order.
Key = tuple[str, str]

BUCKET = "_bucket"
SUM = "_sum"
INFINITY = "+Inf"


@dataclass(frozen=True, slots=True)
class Histogram:
    """How long something takes: its name, and the upper bounds of its buckets in seconds."""

    name: str
    bounds_s: tuple[float, ...]

    def bucket_of(self, seconds: float) -> str:
        """The upper bound that `seconds` fall under, as a label."""
        place = bisect_left(self.bounds_s, seconds)
        return f"{self.bounds_s[place]:g}" if place < len(self.bounds_s) else INFINITY


class MetricsBuffer:
    """What has been counted and not been added to the table yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Key] = Counter()

    def add(self, name: str, by: float = 1, **labels: str) -> None:
        """Count something `by` so much; nothing at 0."""
        if by:
            with self._lock:
                self._counts[metric_key(name, labels)] += by  # type: ignore[assignment]

    def observe(self, histogram: Histogram, seconds: float, **labels: str) -> None:
        """Count one that took so long."""
        bucket = metric_key(histogram.name + BUCKET, labels | {"le": histogram.bucket_of(seconds)})
        with self._lock:
            self._counts[bucket] += 1
            self._counts[metric_key(histogram.name + SUM, labels)] += seconds  # type: ignore[assignment]

    def take(self) -> dict[Key, float]:
        """All that was counted since the last time; it is the caller's now."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return dict(counts)

    def give_back(self, counts: Mapping[Key, float]) -> None:
        """What was taken and could not be added: it waits for the next time."""
        with self._lock:
            self._counts.update(counts)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to add."""
        return not self._counts


def metric_key(name: str, labels: Mapping[str, str]) -> Key:
    """How a name with its labels stands in the table."""
    return name, json.dumps(labels, sort_keys=True)


# This process's own.
metrics_buffer = MetricsBuffer()


def add_on_commit(name: str, by: float = 1, **labels: str) -> None:
    """Count what a transaction does, once it is there for good; at once outside of any."""
    transaction.on_commit(lambda: metrics_buffer.add(name, by, **labels))
