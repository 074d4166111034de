"""The health of sending, read in one statement of constant cost."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import clock_and_day, counted
from delivery.monitoring.database_fault import IS_READ_ONLY
from delivery.monitoring.worker_heartbeat import WORKERS
from delivery.provider.from_settings import capabilities, provider_name
from delivery.queue.scheduled_editions import IS_DUE
from delivery.queue.shared_send_rate import SLOWDOWN_COLUMNS
from delivery.reports.load_edition_counts import pop_slowed_to, pop_write_fault, rows_by_name
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason
from delivery.tasks.periodic_task_lease import IS_ACTIVE

# In SQL: the time of the newest webhook. Polled events have no trace.
NEWEST_WEBHOOK_AT = """(SELECT max(received_at) FILTER (WHERE trace IS NOT NULL)
    FROM (SELECT received_at, trace FROM provider_event ORDER BY id DESC LIMIT 500) AS newest)"""
_EDITIONS_READ = 6
_CALLS_READ = 20
_CALLS_WITHIN = "1 day"

_STATE = f"""
    SELECT clock_timestamp() AS now,
           worker.active AS workers, worker.heard_at, worker.problems,
           {IS_READ_ONLY} AS is_read_only, lease.calls,
           lease.held > 0 OR EXISTS (SELECT FROM batch WHERE state = 'ready')
                          OR EXISTS (SELECT FROM batch WHERE state = 'unknown')
                          OR EXISTS (SELECT FROM edition WHERE {IS_DUE}) AS work,
           (lease.unknown + doubt.unknown)::bigint AS unknown,
           least(lease.since, doubt.since) AS unknown_since, doubt.next_lookup_at,
           {NEWEST_WEBHOOK_AT} AS webhook_at, task.succeeded_at AS polled_at,
           task.failures AS poll_failures, slowdown.*
    FROM {WORKERS}
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
_HEALTH = f"SELECT * FROM ({_STATE}) AS state, ({_CALLS}) AS calls"  # noqa: S608 -- constants


@dataclass(frozen=True, slots=True)
class Health:
    """The health of sending at `now` by the database's clock.

    Only the last day is searched for the last call and the last failure. `response_s` is the median
    duration of the last calls. `poll_failures` counts the failures since `polled_at`. `write_fault`
    is a fault of the database that stops all workers.
    """

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
    write_fault: Reason | None = None


def read_health() -> Health:
    """Read the health of sending now."""
    with connection.cursor() as cursor:
        cursor.execute(_HEALTH, [])
        (found,) = rows_by_name(cursor)
    found["write_fault"] = pop_write_fault(found, active=found["workers"])
    return Health(slowed_to_per_s=pop_slowed_to(found), **found)


Clock = Callable[[datetime], str]


class HealthLine(NamedTuple):
    """One line about the health of sending: subject, short state, and more sentences."""

    name: str
    glyph: str
    tone: str
    state: str
    more: str = ""


def health_lines(
    health: Health, zone: ZoneInfo, *, ceiling_per_s: float | None, takes_webhooks: bool
) -> list[HealthLine]:
    """Return the lines of the health report, with times in `zone`."""

    def at(moment: datetime) -> str:
        return clock_and_day(moment, health.now, zone)

    can = capabilities()
    lines = [
        _workers(health, at),
        _provider(health, at, ceiling_per_s),
        _unconfirmed(health, at),
    ]
    if can.path:
        lines.append(_webhooks(health, at, takes_webhooks))
    if can.is_polled:
        lines.append(_bounces(health, at))
    return lines


def _workers(health: Health, at: Clock) -> HealthLine:
    name = _("Workers")
    more = []
    if health.heard_at:
        more.append(_("Last heartbeat: {time}.").format(time=at(health.heard_at)))
    if health.write_fault:
        more.append(reason_sentence(health.write_fault))
        return HealthLine(name, "attention", "fault", _("Cannot write"), " ".join(more))
    if health.workers:
        state = counted("{n} is running", "{n} are running", health.workers)
        more.append(counted("{n} call in progress.", "{n} calls in progress.", health.calls))
        return HealthLine(name, "sent", "sent", state, " ".join(more))
    if health.work:
        more.append(_("Start one with ./homing deliver. Nothing is lost meanwhile."))
        return HealthLine(name, "attention", "fault", _("None is running"), " ".join(more))
    more.append(_("There is nothing to send."))
    return HealthLine(name, "waiting", "calm", _("None is running"), " ".join(more))


# The glyph, the tone and the state in words, by the result of the last call.
_RESULTS = {
    "answered": ("sent", "sent", gettext_lazy("Accepts mail")),
    "refused": ("attention", "fault", gettext_lazy("Refused the last call")),
    "not_sent": ("attention", "fault", gettext_lazy("The last call could not reach it")),
    "unknown": ("unknown", "doubt", gettext_lazy("Did not answer the last call")),
}


def _provider(health: Health, at: Clock, ceiling_per_s: float | None) -> HealthLine:
    name = provider_name()
    limit = []
    if ceiling_per_s:
        per_minute = _per_minute(ceiling_per_s)
        limit = [
            counted("Limit: {n} copy per minute.", "Limit: {n} copies per minute.", per_minute)
        ]
    if health.slowed_to_per_s is not None:
        rate = counted(
            "About {n} copy per minute for now. The rate rises again step by step.",
            "About {n} copies per minute for now. The rate rises again step by step.",
            _per_minute(health.slowed_to_per_s),
        )
        more = " ".join([rate, *limit])
        return HealthLine(name, "held", "doubt", _("Asked Homing to send more slowly"), more)
    if health.last_result not in _RESULTS or health.last_call_at is None:
        more = " ".join([_("No call in the last day."), *limit])
        return HealthLine(name, "waiting", "calm", _("Not called lately"), more)
    sentences = []
    if health.response_s is not None:
        sentences.append(_answer_time(health.response_s))
    if health.last_result != "answered":
        sentences.append(_("Time of the call: {time}.").format(time=at(health.last_call_at)))
    elif health.last_failure_at:
        sentences.append(_("Last failed call: {time}.").format(time=at(health.last_failure_at)))
    more = " ".join([*sentences, *limit, _("The rate is not reduced.")])
    glyph, tone, state = _RESULTS[health.last_result]
    return HealthLine(name, glyph, tone, str(state), more)


def _per_minute(per_s: float) -> int:
    return max(1, round(per_s * 60))


def _answer_time(seconds: float) -> str:
    if seconds < 0.05:
        return _("Answers in less than 0.1 s.")
    return _("Answers in {seconds} s.").format(seconds=number_format(round(seconds, 1), 1))


def _unconfirmed(health: Health, at: Clock) -> HealthLine:
    name = _("Unconfirmed")
    if not health.unknown:
        return HealthLine(name, "sent", "sent", _("No copies"))
    more = []
    # If the worker was killed, `unknown_since` is the deadline of its call, which may be in the
    # future.
    if health.unknown_since and health.unknown_since <= health.now:
        more.append(_("Since {time}.").format(time=at(health.unknown_since)))
    if health.next_lookup_at and health.next_lookup_at > health.now:
        more.append(_("Next look-up: {time}.").format(time=at(health.next_lookup_at)))
    elif capabilities().can_be_asked:
        more.append(_("Homing is asking {provider} now.").format(provider=provider_name()))
    elif capabilities().repeats_with_key and health.next_lookup_at:
        more.append(_("Homing repeats the call with the same key."))
    else:
        more.append(_("An author must decide about them."))
    state = counted("{n} copy", "{n} copies", health.unknown)
    return HealthLine(name, "unknown", "doubt", state, " ".join(more))


def _webhooks(health: Health, at: Clock, takes_webhooks: bool) -> HealthLine:
    name = _("Webhooks")
    if not takes_webhooks:
        can = capabilities()
        if can.is_polled:
            more = _("{setting} is not set, so Homing only polls {provider} for events.")
        else:
            more = _("{setting} is not set, so {provider} reports no events.")
        more = more.format(setting=can.login_settings[-1], provider=can.name)
        return HealthLine(name, "waiting", "calm", _("Off"), more)
    if health.webhook_at is None:
        return HealthLine(name, "waiting", "calm", _("None received yet"))
    more = _("Last one: {time}.").format(time=at(health.webhook_at))
    return HealthLine(name, "sent", "sent", _("Arriving"), more)


def _bounces(health: Health, at: Clock) -> HealthLine:
    name = _("Bounces")
    if health.poll_failures:
        failed = counted(
            "{n} check in a row failed.", "{n} checks in a row failed.", health.poll_failures
        )
        last = _("No check has succeeded yet.")
        if health.polled_at:
            last = _("Last success: {time}.").format(time=at(health.polled_at))
        more = f"{failed} {last}"
        return HealthLine(name, "attention", "doubt", _("Could not be checked"), more)
    if not health.polled_at:
        more = _("A worker asks {provider} for bounces every hour and after each publication.")
        more = more.format(provider=provider_name())
        return HealthLine(name, "waiting", "calm", _("Not checked yet"), more)
    state = _("Checked at {time}").format(time=at(health.polled_at))
    return HealthLine(name, "sent", "sent", state)
