"""The words for how sending does, line by line. Pure."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from delivery.humanise import clock_and_day, counted
from delivery.reports.health import Health

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
