"""The metrics of /metrics. docs/metrics.md explains some of them.

The catalogue lists known label values, so that each series exists with the value 0 before its first
event. If a series began with the value 1, Prometheus would miss the first event.
"""

import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import django
from django.conf import settings
from django.db.backends.utils import CursorWrapper

from delivery.interface import provider_class
from delivery.models import Alarm, Attempt, Batch
from delivery.models.delivery import Outcome
from delivery.monitoring import delivery_metrics
from delivery.monitoring.database_fault import fault_of_web_process, load_refusals
from delivery.monitoring.delivery_metrics import Phase
from delivery.monitoring.metrics_storage import Histogram
from delivery.reports.queue_snapshot import read_snapshot
from delivery.rules.edition_state import EditionState, state_of
from delivery.rules.reason import WORKER_PROBLEMS, WRITE_FAULTS
from idempotency.run_once import PostOutcome
from newsletter_site.operations.metrics import site_metrics
from subscribers.importing.import_metrics import read_import_gauges

# One value, or a dict of values with label values as keys. If a metric has several labels, the
# dict's keys are tuples.
Reading = float | Mapping[Any, float] | None


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    `labels` maps each label to its known values. `bounds_s` are the upper bounds of a histogram's
    buckets, in seconds. `beside` is a label and a value. For each counted series, the series that
    differs only in this value is written too, even if its count is 0.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds_s: tuple[float, ...] = ()
    beside: tuple[str, str] | None = None


def _counter(name: str, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, "counter", text, labels)


def _gauge(name: str, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, "gauge", text, labels)


def _histogram(histogram: Histogram, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(histogram.name, "histogram", text, labels, histogram.bounds_s)


OPEN_BATCHES = tuple(state for state in Batch.State.values if state != Batch.State.DONE)
OPEN_EDITIONS = tuple(
    state for state in EditionState if state not in {EditionState.SUCCEEDED, EditionState.CLOSED}
)

HOT_TABLES = (
    "batch", "delivery", "attempt", "idempotency", "metric_value", "worker", "send_rate",
    "periodic_task",
)  # fmt: skip

CATALOGUE: tuple[Metric, ...] = (
    _gauge("homing_deliveries_waiting", "Deliveries that are queued or being sent."),
    _gauge("homing_batches", "Batches that are not done.", state=OPEN_BATCHES),
    _gauge("homing_batches_crashing", "Open batches that crashed a worker since their last call."),
    _gauge("homing_oldest_due_batch_age_seconds", "How overdue the oldest batch is, or 0."),
    _gauge("homing_editions", "Open editions by state, at most 50.", state=OPEN_EDITIONS),
    _gauge(
        "homing_edition_deliveries",
        "Deliveries by outcome, of the newest 10 open editions.",
        issue=(),
        version=(),
        outcome=(),
    ),
    _gauge("homing_editions_due", "Scheduled issues that are due and have not started."),
    _gauge("homing_editions_unreconciled", "Editions that need ./homing reconcile."),
    _counter(
        delivery_metrics.DELIVERIES,
        "Outcomes of deliveries. An unknown delivery counts again when it is settled.",
        outcome=tuple(Outcome.values),
    ),
    _gauge("homing_deliveries_unknown", "Deliveries whose outcome is unknown now."),
    _gauge("homing_oldest_unknown_age_seconds", "Age of the oldest unknown delivery, or 0."),
    _counter(
        delivery_metrics.LOOKUPS,
        "Look-ups of unknown attempts, by result.",
        result=("found", "absent", "no_information"),
    ),
    _counter(delivery_metrics.ALARMS, "Raised alarms, by kind.", kind=tuple(Alarm.Kind.values)),
    _gauge(
        "homing_alarms_unseen", "Alarms that nobody acknowledged.", kind=tuple(Alarm.Kind.values)
    ),
    _counter(delivery_metrics.CALLS, "Calls to the provider.", result=tuple(Attempt.Result.values)),
    _histogram(delivery_metrics.CALL_SECONDS, "Duration of calls to the provider."),
    _counter(
        delivery_metrics.PHASE_SECONDS,
        "Elapsed time of the workers' threads, by phase.",
        phase=tuple(Phase),
    ),
    _counter(
        delivery_metrics.PHASE_CPU_SECONDS,
        "CPU time of the workers' threads, by phase.",
        phase=tuple(Phase),
    ),
    _counter(delivery_metrics.RATE_LIMITED, "Calls refused by the provider's rate limit (429)."),
    _gauge("homing_rate_limited", "1 while the workers are slowed down after a 429."),
    _gauge(
        "homing_rate_limit_deliveries_per_second", "Reduced rate after a 429; otherwise absent."
    ),
    _gauge("homing_workers", "Workers with a heartbeat in the last 60 seconds."),
    _gauge("homing_workers_expected", "EXPECTED_WORKERS; absent if it is not set."),
    _gauge(
        "homing_worker_problems",
        "Active workers that report this problem.",
        problem=WORKER_PROBLEMS,
    ),
    _gauge(
        "homing_writes_failing",
        "1 if writes to the database fail, by fault.",
        fault=WRITE_FAULTS,
    ),
    _gauge("homing_last_heartbeat_age_seconds", "Age of the last heartbeat; absent without one."),
    _counter(
        delivery_metrics.LEASES_RECOVERED,
        "Batches recovered from crashed workers, by state.",
        state=("claimed", "sending", "looking_up"),
    ),
    _gauge("homing_provider_events_pending", "Provider events that are stored and not applied."),
    _gauge(
        "homing_oldest_pending_provider_event_age_seconds",
        "Age of the oldest pending provider event, or 0.",
    ),
    _gauge("homing_provider_events_failed", "Failed provider events, which need an operator."),
    _gauge("homing_webhooks_configured", "1 if webhooks have a user and a password."),
    _gauge("homing_last_webhook_age_seconds", "Age of the last webhook; absent without one."),
    _gauge(
        "homing_task_failures",
        "Consecutive failures of a task; absent if no worker runs it.",
        task=(),
    ),
    _gauge(
        "homing_imports",
        "Imports in progress.",
        state=("checking", "waiting", "running", "undoing"),
    ),
    _gauge("homing_imports_refused", "Imports that were refused in the last 24 hours."),
    _gauge("homing_import_stalled_seconds", "How long an import has had no worker, or 0."),
    _counter(
        site_metrics.FORM_POSTS,
        "Forms and API calls posted under a key; busy means 409, other_content 422.",
        result=tuple(PostOutcome),
    ),
    _counter(
        site_metrics.SIGN_INS,
        "Sign-ins, and wrong passwords in open sessions.",
        result=tuple(site_metrics.SignInResult),
    ),
    Metric(
        site_metrics.REQUESTS,
        "counter",
        "Requests by route and class of status; 5xx does not include 503.",
        {"route": (), "status": ()},
        # Write the number of errors of a route even while it is 0, because Prometheus does not
        # count the first value of a new series as an increase.
        beside=("status", site_metrics.SERVER_ERRORS),
    ),
    _histogram(site_metrics.REQUEST_SECONDS, "Duration of requests, by route.", route=()),
    _gauge("homing_database_identity_differs", "1 if this is another database than before."),
    _gauge("homing_migrations_pending", "Migrations of this version that are not applied."),
    _gauge("homing_database_sessions", "Sessions in this database, without the scrape's own."),
    _gauge("homing_database_oldest_transaction_seconds", "Age of the oldest transaction, or 0."),
    _gauge("homing_database_oldest_snapshot_seconds", "Age of the oldest snapshot, or 0."),
    _gauge("homing_database_dead_rows", "Dead rows in hot tables.", table=HOT_TABLES),
    _gauge("homing_database_live_rows", "Live rows in hot tables.", table=HOT_TABLES),
    _gauge(
        "homing_build_info",
        "Versions in use; always 1.",
        version=(),
        commit=(),
        python=(),
        django=(),
        postgresql=(),
    ),
)


def read_gauges(cursor: CursorWrapper) -> dict[str, Reading]:
    """Read the gauges, by name. A gauge with the value None is left out."""
    queue = read_snapshot(cursor)
    own_fault = filter(None, [fault_of_web_process.problem()])
    states = Counter(state_of(counts) for counts in queue.editions)
    return {
        "homing_deliveries_waiting": queue.waiting,
        "homing_batches": queue.batches,
        "homing_batches_crashing": queue.crashing,
        "homing_oldest_due_batch_age_seconds": queue.due_age_s or 0,
        "homing_editions": {state: states[state] for state in OPEN_EDITIONS},
        "homing_edition_deliveries": {
            (str(counts.issue), str(counts.version), outcome): getattr(counts, outcome)
            for counts in queue.newest
            for outcome in Outcome.values
        },
        "homing_editions_due": queue.editions_due,
        "homing_editions_unreconciled": queue.unreconciled,
        "homing_deliveries_unknown": queue.unknown,
        "homing_oldest_unknown_age_seconds": queue.unknown_age_s or 0,
        "homing_alarms_unseen": queue.alarms,
        "homing_rate_limited": queue.slowed_to_per_s is not None,
        "homing_rate_limit_deliveries_per_second": queue.slowed_to_per_s,
        "homing_workers": queue.workers.active,
        "homing_workers_expected": settings.EXPECTED_WORKERS,
        "homing_worker_problems": Counter(
            code
            for problems in queue.workers.problems
            for code in {str(reason.code) for reason in problems}
        ),
        "homing_writes_failing": dict.fromkeys(
            (
                str(reason.code)
                for reason in (*chain(*queue.workers.problems), *load_refusals(cursor), *own_fault)
                if reason.code in WRITE_FAULTS
            ),
            1,
        ),
        "homing_last_heartbeat_age_seconds": queue.workers.age_s,
        "homing_provider_events_pending": queue.events_pending,
        "homing_oldest_pending_provider_event_age_seconds": queue.events_pending_age_s or 0,
        "homing_provider_events_failed": queue.events_failed,
        "homing_webhooks_configured": bool(provider_class().webhook_login()),
        "homing_last_webhook_age_seconds": queue.webhook_age_s,
        "homing_task_failures": queue.tasks,
        "homing_database_identity_differs": queue.identity_differs,
        **read_import_gauges(cursor),
        **_read_database_gauges(cursor),
    }


def _read_database_gauges(cursor: CursorWrapper) -> dict[str, Any]:
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
