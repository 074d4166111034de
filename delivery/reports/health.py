"""How sending does, read in two statements, at the same cost however much was ever sent."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection

from delivery.monitoring.worker_heartbeat import ACTIVE_WITHIN
from delivery.queue.scheduled_editions import IS_DUE
from delivery.queue.send_rate import SLOWDOWN_COLUMNS, SLOWDOWN_NAMES, slowdown_from
from delivery.reports.edition_counts import rows_by_name
from delivery.rules.send_rate import slowed_to
from delivery.tasks.periodic_tasks import IS_ACTIVE

# Polled events have no trace: the newest with one is a webhook.
EVENTS_READ = 500
_EDITIONS_READ = 6
_CALLS_READ = 20
_CALLS_WITHIN = "1 day"

_STATE = f"""
    SELECT clock_timestamp() AS now,
           worker.number AS workers, worker.heard_at, lease.calls,
           lease.held > 0 OR EXISTS (SELECT FROM batch WHERE state = 'ready')
                          OR EXISTS (SELECT FROM batch WHERE state = 'unknown')
                          OR EXISTS (SELECT FROM edition WHERE {IS_DUE}) AS work,
           (lease.unknown + doubt.unknown)::bigint AS unknown,
           least(lease.since, doubt.since) AS unknown_since, doubt.next_lookup_at,
           event.at AS webhook_at, task.succeeded_at AS polled_at,
           task.failures AS poll_failures, slowdown.*
    FROM (SELECT count(*) FILTER (WHERE heard_at > clock_timestamp()
                                            - interval '{ACTIVE_WITHIN}') AS number,
                 max(heard_at) AS heard_at FROM worker) AS worker
    CROSS JOIN (SELECT count(*) AS held, count(*) FILTER (WHERE state = 'sending') AS calls,
                       coalesce(sum(unknown), 0) AS unknown, min(unknown_since) AS since
                FROM batch WHERE state IN ('claimed', 'sending', 'looking_up')) AS lease
    CROSS JOIN (SELECT coalesce(sum(unknown), 0) AS unknown, min(unknown_since) AS since,
                       min(due_at) AS next_lookup_at
                FROM batch WHERE state = 'unknown') AS doubt
    CROSS JOIN (SELECT max(received_at) FILTER (WHERE trace IS NOT NULL) AS at
                FROM (SELECT received_at, trace FROM provider_event
                      ORDER BY id DESC LIMIT {EVENTS_READ}) AS newest) AS event
    CROSS JOIN (SELECT coalesce(min(last_success_at) FILTER (WHERE {IS_ACTIVE}),
                                max(last_success_at)) AS succeeded_at,
                       coalesce(max(failures) FILTER (WHERE {IS_ACTIVE}), 0) AS failures
                FROM periodic_task WHERE name LIKE 'poll %%') AS task
    LEFT JOIN (SELECT {SLOWDOWN_COLUMNS} FROM send_rate) AS slowdown ON true
"""  # noqa: S608 -- constants

_CALLS = f"""
    WITH lately AS (
        (SELECT id FROM edition WHERE kind = 'newsletter'
         ORDER BY id DESC LIMIT {_EDITIONS_READ})
        UNION ALL
        (SELECT id FROM edition WHERE kind <> 'newsletter'
         ORDER BY id DESC LIMIT {_EDITIONS_READ})
        UNION ALL
        -- The first editions have most of the transactional mail.
        (SELECT id FROM edition WHERE kind <> 'newsletter' ORDER BY id LIMIT {_EDITIONS_READ})
    ), call AS (
        SELECT DISTINCT attempt.id, started_at, finished_at, result
        FROM lately CROSS JOIN LATERAL (
            SELECT id, started_at, finished_at, result FROM attempt
            WHERE edition_id = lately.id
              AND finished_at > clock_timestamp() - interval '{_CALLS_WITHIN}'
            ORDER BY finished_at DESC LIMIT {_CALLS_READ}
        ) AS attempt
        ORDER BY finished_at DESC LIMIT {_CALLS_READ}
    )
    SELECT percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM finished_at - started_at)::float8)
               FILTER (WHERE result = 'answered') AS response_s,
           coalesce((array_agg(result ORDER BY finished_at DESC))[1], '') AS last_result,
           max(finished_at) AS last_call_at,
           max(finished_at) FILTER (WHERE result <> 'answered') AS last_failure_at
    FROM call
"""  # noqa: S608 -- constants


@dataclass(frozen=True, slots=True)
class Health:
    """How sending does, at `now` by the database's clock. The last call and failure are those of
    the last day; `response_s` is the median of the last calls. `poll_failures` counts the failures
    since `polled_at`."""

    now: datetime
    workers: int
    heard_at: datetime | None
    calls: int
    work: bool
    slowed_to_per_s: float | None
    response_s: float | None
    last_result: str
    last_call_at: datetime | None
    last_failure_at: datetime | None
    unknown: int
    unknown_since: datetime | None
    next_lookup_at: datetime | None
    webhook_at: datetime | None
    polled_at: datetime | None
    poll_failures: int


def read_health() -> Health:
    """Read how sending does now."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE, [])
        (state,) = rows_by_name(cursor)
        cursor.execute(_CALLS)
        (calls,) = rows_by_name(cursor)
    slowdown = slowdown_from([state.pop(name) for name in SLOWDOWN_NAMES])
    slowed_to_per_s = slowed_to(slowdown, settings.DELIVERY_RATE_PER_S)
    return Health(**state, **calls, slowed_to_per_s=slowed_to_per_s)
