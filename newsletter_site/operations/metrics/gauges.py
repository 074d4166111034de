"""What was read, as samples of gauges. Pure: each metric of the catalogue that is no counter."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import django

from delivery.reports.queue_snapshot import QueueSnapshot
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import state_of
from newsletter_site.operations.metrics.database_metrics import DatabaseStats
from newsletter_site.operations.metrics.metrics_catalogue import BY_NAME, OPEN_EDITIONS
from subscribers.importing.import_state import StandingImports


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric, under its labels."""

    name: str
    value: float
    labels: Mapping[str, str]


def samples_of(
    standing: QueueSnapshot,
    imports: StandingImports,
    database: DatabaseStats,
    missing_migrations: Sequence[str],
    *,
    takes_webhooks: bool,
) -> list[Sample]:
    """All of them. What is not known has no sample."""
    return [
        *_of_delivery(standing),
        *_of_editions(standing.editions, standing.letters),
        _one("homing_webhooks_set_up", takes_webhooks),
        *_each("homing_imports", "state", imports.by_state),
        _one("homing_imports_refused", imports.refused),
        _one("homing_import_lying_still_seconds", imports.lying_still_s or 0),
        _one("homing_migrations_pending", len(missing_migrations)),
        _one("homing_database_sessions", database.sessions),
        _one("homing_database_oldest_transaction_seconds", database.oldest_transaction_s),
        _one("homing_database_oldest_snapshot_seconds", database.oldest_snapshot_s),
        *_each("homing_database_dead_rows", "table", database.dead_rows),
        *_each("homing_database_live_rows", "table", database.live_rows),
        Sample(
            "homing_build_info",
            1,
            {
                "python": platform.python_version(),
                "django": django.get_version(),
                "postgresql": database.version,
            },
        ),
    ]


def _of_delivery(standing: QueueSnapshot) -> Iterator[Sample]:
    yield _one("homing_copies_waiting", standing.waiting)
    yield from _each("homing_batches", "state", standing.batches)
    yield _one("homing_oldest_due_batch_age_seconds", standing.due_age_s or 0)
    yield _one("homing_editions_due", standing.editions_due)
    yield _one("homing_editions_unreconciled", standing.unreconciled)
    yield _one("homing_copies_unknown", standing.unknown)
    yield _one("homing_oldest_doubt_age_seconds", standing.doubt_age_s or 0)
    yield from _each("homing_alarms_unseen", "kind", standing.alarms)
    yield _one("homing_slowed", standing.slowed_to_per_s is not None)
    if standing.slowed_to_per_s is not None:
        yield _one("homing_slowed_to_copies_per_second", standing.slowed_to_per_s)
    yield _one("homing_workers", standing.workers.lately)
    if standing.workers.ago_s is not None:
        yield _one("homing_worker_heard_age_seconds", standing.workers.ago_s)
    yield _one("homing_events_pending", standing.events_pending)
    yield _one("homing_oldest_pending_event_age_seconds", standing.events_pending_age_s or 0)
    yield _one("homing_events_set_aside", standing.events_set_aside)
    if standing.webhook_age_s is not None:
        yield _one("homing_webhook_age_seconds", standing.webhook_age_s)
    yield from _each("homing_errand_failures", "errand", standing.tasks)
    yield _one("homing_database_identity_differs", standing.identity_differs)


def _of_editions(
    editions: Sequence[EditionCounts], letters: Sequence[EditionCounts]
) -> Iterator[Sample]:
    by_state = dict.fromkeys(OPEN_EDITIONS, 0)
    for books in editions:
        state = state_of(books).value
        if state in by_state:
            by_state[state] += 1
    yield from _each("homing_editions", "state", by_state)
    for books in letters:
        which = {"issue": str(books.issue), "version": str(books.version)}
        for outcome in ("waiting", "sent", "unknown", "suppressed", "withdrawn", "failed"):
            number = float(getattr(books, outcome))
            yield Sample("homing_edition_copies", number, which | {"outcome": outcome})


def _one(name: str, value: float) -> Sample:
    return Sample(name, float(value), {})


def _each(name: str, label: str, values: Mapping[str, float]) -> Iterator[Sample]:
    """One sample a value; those that the catalogue names and nothing was read of are 0."""
    known = BY_NAME[name].labels[label]
    for value in dict.fromkeys([*known, *values]):
        yield Sample(name, float(values.get(value, 0)), {label: value})
