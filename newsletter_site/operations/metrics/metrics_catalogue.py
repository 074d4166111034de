"""
Every metric of /metrics: its name, kind, labels and meaning. Pure, and the only list of them.

Labels take values of which there are few: no issue's id in a counter, and in a gauge only those of
the few editions that are open. Where all values are known they are named, so that a series is there
before the first time: an increase from nothing to one would not be seen otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from delivery.interface import Phase
from delivery.models import Alarm, Attempt, Batch
from delivery.models.delivery import Outcome
from delivery.monitoring import delivery_metrics as of_delivery
from delivery.monitoring.metrics_buffer import Histogram
from delivery.rules.edition_state import EditionState
from idempotency.outcome_signal import Ended
from newsletter_site.operations.metrics import site_metrics as of_the_site
from newsletter_site.operations.metrics.database_metrics import HOT_TABLES


class MetricType(StrEnum):
    """What Prometheus calls it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """
    One metric. `labels` are its labels' names with their values, empty where those are not known
    beforehand; `bounds_s` a histogram's buckets. `beside`, a label and its value, is at 0 beside
    each series that there is, where it was not counted.
    """

    name: str
    kind: MetricType
    help: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds_s: tuple[float, ...] = ()
    beside: tuple[str, str] | None = None


def _counter(name: str, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, MetricType.COUNTER, text, labels)


def _gauge(name: str, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, MetricType.GAUGE, text, labels)


def _histogram(histogram: Histogram, text: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(histogram.name, MetricType.HISTOGRAM, text, labels, histogram.bounds_s)


OPEN_STATES = tuple(state for state in Batch.State.values if state != Batch.State.DONE)
# An edition in one of the others is over, or was never begun with.
OPEN_EDITIONS = tuple(
    state.value
    for state in EditionState
    if state not in {EditionState.SUCCEEDED, EditionState.CLOSED}
)

CATALOGUE: tuple[Metric, ...] = (
    # --- What waits ---
    _gauge("homing_copies_waiting", "Copies that wait to be sent, in a call among them."),
    _gauge("homing_batches", "Batches that are not done.", state=OPEN_STATES),
    _gauge(
        "homing_oldest_due_batch_age_seconds",
        "For how long the batch has been due that has been due longest; 0 if none is.",
    ),
    _gauge(
        "homing_editions",
        "Editions of which something is left to do, by state: at most 50, held back ones first.",
        state=OPEN_EDITIONS,
    ),
    _gauge(
        "homing_edition_copies",
        "Copies of the newest 10 issues that are open, by outcome.",
        issue=(),
        version=(),
        outcome=(),
    ),
    _gauge("homing_editions_due", "Scheduled issues whose time has come and that have not begun."),
    _gauge("homing_editions_unreconciled", "Editions that wait for ./homing reconcile."),
    # --- What became of copies ---
    _counter(
        of_delivery.DELIVERIES,
        "How often a copy came to an outcome; one that was in doubt counts again when that ends, "
        "as waiting where a look-up did not find it. What never left is not counted as waiting.",
        outcome=tuple(Outcome.values),
    ),
    _gauge("homing_copies_unknown", "Copies in doubt now."),
    _gauge(
        "homing_oldest_doubt_age_seconds", "How long the oldest doubt lasts; 0 if there is none."
    ),
    _counter(
        of_delivery.LOOKUPS,
        "Look-ups of attempts in doubt, by what the provider answered.",
        answer=("found", "absent", "no_information"),
    ),
    _counter(
        of_delivery.ALARMS,
        "Alarms that were raised, by kind; accepted_twice is a second copy.",
        kind=tuple(Alarm.Kind.values),
    ),
    _gauge(
        "homing_alarms_unseen",
        "Alarms that nobody has looked at yet, by kind.",
        kind=tuple(Alarm.Kind.values),
    ),
    # --- Calls ---
    _counter(
        of_delivery.CALLS,
        "Calls to the provider, by how they ended.",
        result=tuple(Attempt.Result.values),
    ),
    _histogram(of_delivery.CALL_SECONDS, "How long calls to the provider took."),
    _counter(
        of_delivery.PHASE_SECONDS,
        "Seconds that calls took, of all threads together, by phase.",
        phase=tuple(Phase),
    ),
    _counter(
        of_delivery.PHASE_WORK_SECONDS,
        "Of these, the seconds of processor time of the workers themselves; the rest was waiting.",
        phase=tuple(Phase),
    ),
    _counter(of_delivery.RATE_LIMITED, "Calls that the provider refused as too fast (429)."),
    _gauge("homing_slowed", "1 while the workers are slowed down after a 429."),
    _gauge(
        "homing_slowed_to_copies_per_second",
        "The pace that the slowing leaves at this moment; not there without one.",
    ),
    # --- Workers ---
    _gauge("homing_workers", "Workers that were heard from in the last 60 seconds."),
    _gauge(
        "homing_worker_heard_age_seconds",
        "How long ago a worker was last heard from; not there if none is known.",
    ),
    _counter(
        of_delivery.LEASES_RECOVERED,
        "Batches that came back from lost workers, by what those had them for.",
        state=("claimed", "sending", "looking_up"),
    ),
    # --- What the provider tells, and what is asked of it ---
    _gauge("homing_events_pending", "Events of the provider that are kept and not applied yet."),
    _gauge(
        "homing_oldest_pending_event_age_seconds",
        "How long ago the oldest of them came; 0 if there is none.",
    ),
    _gauge("homing_events_set_aside", "Events that could not be applied and wait for a person."),
    _gauge(
        "homing_webhooks_set_up", "1 if webhooks have a user and a password, so that they come."
    ),
    _gauge(
        "homing_webhook_age_seconds",
        "How long ago the last webhook came; not there if none is among the last events.",
    ),
    _gauge(
        "homing_errand_failures",
        "How often in a row an errand of the workers failed; not there once none goes on it.",
        errand=(),
    ),
    # --- Imports ---
    _gauge(
        "homing_imports", "Imports that are not over.", state=("checking", "waiting", "running")
    ),
    _gauge("homing_imports_refused", "Imports that were refused within the last 24 hours."),
    _gauge(
        "homing_import_lying_still_seconds",
        "For how long an import has lain that nobody works on; 0 if none does.",
    ),
    # --- Posted forms and pages ---
    _counter(
        of_the_site.FORMS,
        "Posts under a key, of forms and of the API, by how they ended: replay is the first "
        "answer again, busy 409, other_content 422.",
        ended=tuple(ended.value for ended in Ended),
    ),
    _counter(
        of_the_site.SIGN_INS,
        "Sign-ins by how they ended, and proofs at an open session that were no use: wrong were "
        "looked at, refused came during a wait.",
        result=tuple(result.value for result in of_the_site.SignInResult),
    ),
    # Else the first faults of a route would be no increase.
    Metric(
        of_the_site.REQUESTS,
        MetricType.COUNTER,
        "Requests by route and class of status; files and unknown addresses are (none). "
        "503, which says come again, is not among 5xx.",
        {"route": (), "status": ()},
        beside=("status", of_the_site.SERVER_ERRORS),
    ),
    _histogram(of_the_site.REQUEST_SECONDS, "How long requests took, by route.", route=()),
    # --- The database ---
    _gauge("homing_database_identity_differs", "1 if this is not the database the workers knew."),
    _gauge("homing_migrations_pending", "Migrations that this version knows and are not applied."),
    _gauge("homing_database_sessions", "Sessions in this database, without the one that asks."),
    _gauge(
        "homing_database_oldest_transaction_seconds",
        "How long the oldest transaction has been open; 0 if none is.",
    ),
    _gauge(
        "homing_database_oldest_snapshot_seconds",
        "How long the oldest snapshot has been held, which keeps dead rows from going.",
    ),
    _gauge("homing_database_dead_rows", "Dead rows in hot tables.", table=HOT_TABLES),
    _gauge("homing_database_live_rows", "Live rows in hot tables.", table=HOT_TABLES),
    # --- Which Homing ---
    _gauge(
        "homing_build_info",
        "Always 1: what this process runs on.",
        python=(),
        django=(),
        postgresql=(),
    ),
)

BY_NAME = {metric.name: metric for metric in CATALOGUE}
