"""How sending does, read in two statements, at the same cost however much was ever sent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection

from delivery.humanise import clock_and_day, counted
from delivery.monitoring.worker_heartbeat import ACTIVE_WITHIN
from delivery.queue.scheduled_editions import IS_DUE
from delivery.queue.send_rate import SLOWDOWN_COLUMNS
from delivery.reports.edition_counts import pop_slowed_to, rows_by_name
from delivery.tasks.periodic_tasks import IS_ACTIVE

# In SQL: when the newest webhook came. Polled events have no trace.
NEWEST_WEBHOOK_AT = """(SELECT max(received_at) FILTER (WHERE trace IS NOT NULL)
    FROM (SELECT received_at, trace FROM provider_event ORDER BY id DESC LIMIT 500) AS newest)"""
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
           {NEWEST_WEBHOOK_AT} AS webhook_at, task.succeeded_at AS polled_at,
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
    return Health(slowed_to_per_s=pop_slowed_to(state), **state, **calls)


Clock = Callable[[datetime], str]


class HealthLine(NamedTuple):
    """One line: what it is about, its state, and more words."""

    name: str
    glyph: str
    tone: str
    state: str
    more: str = ""


def health_lines(
    health: Health, zone: ZoneInfo, *, ceiling_per_s: float | None, takes_webhooks: bool
) -> list[HealthLine]:
    """The lines, with times in `zone`."""

    def at(moment: datetime) -> str:
        return clock_and_day(moment, health.now, zone)

    return [
        _workers(health, at),
        _postmark(health, at, ceiling_per_s),
        _unknown(health, at),
        _webhooks(health, at, takes_webhooks),
        _bounces(health, at),
    ]


def _workers(health: Health, at: Clock) -> HealthLine:
    heard = f"last heard from at {at(health.heard_at)}" if health.heard_at else ""
    if health.workers:
        state = f"{health.workers:,} at work"
        more = _joined(heard, f"{counted(health.calls, 'call')} in flight")
        return HealthLine("Workers", "sent", "sent", state, more)
    if health.work:
        more = _joined(heard, "start one with ./homing deliver", "nothing is lost meanwhile")
        return HealthLine("Workers", "attention", "fault", "None is running", more)
    more = _joined(heard, "nothing waits for one")
    return HealthLine("Workers", "waiting", "calm", "None is running", more)


# The last call's end: glyph, tone, and the words for it.
_ENDS = {
    "answered": ("sent", "sent", "Accepts mail"),
    "refused": ("attention", "fault", "Refused the last call"),
    "not_sent": ("attention", "fault", "Was not reached by the last call"),
    "unknown": ("unknown", "doubt", "Did not answer the last call"),
}


def _postmark(health: Health, at: Clock, ceiling_per_s: float | None) -> HealthLine:
    limit = f"limit {_a_minute(ceiling_per_s)}" if ceiling_per_s else ""
    if health.slowed_to_per_s is not None:
        pace = f"about {_a_minute(health.slowed_to_per_s)} for now, and more from moment to moment"
        more = _joined(pace, limit)
        return HealthLine("Postmark", "held", "doubt", "Asked for a slower pace", more)
    if health.last_result not in _ENDS or health.last_call_at is None:
        more = _joined("no call in the last day", limit)
        return HealthLine("Postmark", "waiting", "calm", "Not called lately", more)
    answers = f"answers in {_seconds(health.response_s)}" if health.response_s is not None else ""
    failed = ""
    if health.last_result != "answered":
        failed = f"at {at(health.last_call_at)}"
    elif health.last_failure_at:
        failed = f"the last call that failed was at {at(health.last_failure_at)}"
    more = _joined(answers, failed, limit, "not slowed")
    return HealthLine("Postmark", *_ENDS[health.last_result], more)


def _unknown(health: Health, at: Clock) -> HealthLine:
    if not health.unknown:
        return HealthLine("Unknown", "sent", "sent", "Nothing is in doubt")
    since = f"since {at(health.unknown_since)}" if health.unknown_since else ""
    asks = "being asked about now"
    if health.next_lookup_at and health.next_lookup_at > health.now:
        asks = f"asked about again at {at(health.next_lookup_at)}"
    state = f"{counted(health.unknown, 'copy is', 'copies are')} in doubt"
    return HealthLine("Unknown", "unknown", "doubt", state, _joined(since, asks))


def _webhooks(health: Health, at: Clock, takes_webhooks: bool) -> HealthLine:
    if not takes_webhooks:
        more = "POSTMARK_WEBHOOK_PASSWORD is not set, so news comes by asking alone"
        return HealthLine("Webhooks", "waiting", "calm", "Off", more)
    if health.webhook_at is None:
        return HealthLine("Webhooks", "waiting", "calm", "None came yet")
    return HealthLine(
        "Webhooks", "sent", "sent", "Arriving", f"last one at {at(health.webhook_at)}"
    )


def _bounces(health: Health, at: Clock) -> HealthLine:
    last = f"last at {at(health.polled_at)}" if health.polled_at else ""
    if health.poll_failures:
        times = "once" if health.poll_failures == 1 else f"{health.poll_failures:,} times"
        more = f"failed {times} since; {last or 'it never went well yet'}"
        return HealthLine("Bounces", "attention", "doubt", "Could not be asked for", more)
    if not health.polled_at:
        more = "a worker asks Postmark for them every hour and after each publication"
        return HealthLine("Bounces", "waiting", "calm", "Not asked for yet", more)
    return HealthLine("Bounces", "sent", "sent", "Asked for", last)


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _a_minute(per_s: float) -> str:
    return f"{max(1, round(per_s * 60)):,} a minute"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.05 else "less than 0.1 s"
