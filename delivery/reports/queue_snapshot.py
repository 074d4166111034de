"""The state of everything that sends mail, as one value. `read_queue_snapshot.py` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from delivery.monitoring.worker_heartbeat import WorkerActivity
from delivery.rules.edition_counts import EditionCounts


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """
    What waits, since when (ages in seconds, None where there is nothing), and what is wrong.

    Batches by state are those that are not over. `editions` are the books of those of which
    something is left to do, by their batches that are not over: enough for their state. They are
    at most `MOST_EDITIONS`, those that are held back first, then the newest. `letters` are the
    whole books of the newest `MOST_NAMED` newsletters among them. `tasks` are the
    periodic tasks: by name, their failures since the last success.
    """

    batches: Mapping[str, int]
    waiting: int
    unknown: int
    due_age_s: float | None
    doubt_age_s: float | None
    editions: tuple[EditionCounts, ...]
    letters: tuple[EditionCounts, ...]
    editions_due: int
    unreconciled: int
    identity_differs: bool
    workers: WorkerActivity
    slowed_to_per_s: float | None
    alarms: Mapping[str, int]
    events_pending: int
    events_pending_age_s: float | None
    events_set_aside: int
    webhook_age_s: float | None
    tasks: Mapping[str, int]
