"""The words for how sending does, line by line. Pure."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from delivery.humanise import clock_and_day
from delivery.reports.health import Health


@dataclass(frozen=True, slots=True)
class HealthLine:
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
    return [
        _workers(health, zone),
        _postmark(health, zone, ceiling_per_s),
        _unknown(health, zone),
        _webhooks(health, zone, takes_webhooks),
        _bounces(health, zone),
    ]


def _workers(health: Health, zone: ZoneInfo) -> HealthLine:
    heard = (
        f"last heard from at {clock_and_day(health.heard_at, health.now, zone)}"
        if health.heard_at
        else ""
    )
    if health.workers:
        flying = "1 call in flight" if health.calls == 1 else f"{health.calls:,} calls in flight"
        return HealthLine(
            "Workers", "sent", "sent", f"{health.workers:,} at work", f"{heard}; {flying}"
        )
    if health.work:
        start = "start one with ./homing deliver; nothing is lost meanwhile"
        return HealthLine(
            "Workers", "attention", "fault", "None is running", f"{heard}; {start}".lstrip("; ")
        )
    more = f"{heard}; nothing waits for one".lstrip("; ")
    return HealthLine("Workers", "waiting", "calm", "None is running", more)


# The last call's end: glyph, tone, and the words for it.
_ENDS = {
    "answered": ("sent", "sent", "Accepts mail"),
    "refused": ("attention", "fault", "Refused the last call"),
    "not_sent": ("attention", "fault", "Was not reached by the last call"),
    "unknown": ("unknown", "doubt", "Did not answer the last call"),
}


def _postmark(health: Health, zone: ZoneInfo, ceiling_per_s: float | None) -> HealthLine:
    limit = f"limit {_a_minute(ceiling_per_s)}" if ceiling_per_s else ""
    if health.slowed_to_per_s is not None:
        pace = f"about {_a_minute(health.slowed_to_per_s)} for now, and more from moment to moment"
        return HealthLine(
            "Postmark",
            "held",
            "doubt",
            "Asked for a slower pace",
            "; ".join(filter(None, (pace, limit))),
        )
    if health.last_result not in _ENDS or health.last_call_at is None:
        more = "; ".join(filter(None, ("no call in the last day", limit)))
        return HealthLine("Postmark", "waiting", "calm", "Not called lately", more)
    glyph, tone, state = _ENDS[health.last_result]
    well = health.last_result == "answered"
    words: list[str] = []
    if health.response_s is not None:
        words.append(f"answers in {_seconds(health.response_s)}")
    if not well:
        words.append(f"at {clock_and_day(health.last_call_at, health.now, zone)}")
    elif health.last_failure_at:
        failed_at = clock_and_day(health.last_failure_at, health.now, zone)
        words.append(f"the last call that failed was at {failed_at}")
    words += [limit, "not slowed"]
    return HealthLine("Postmark", glyph, tone, state, "; ".join(filter(None, words)))


def _unknown(health: Health, zone: ZoneInfo) -> HealthLine:
    if not health.unknown:
        return HealthLine("Unknown", "sent", "sent", "Nothing is in doubt")
    since = (
        f"since {clock_and_day(health.unknown_since, health.now, zone)}"
        if health.unknown_since
        else ""
    )
    asks = "being asked about now"
    if health.next_lookup_at and health.next_lookup_at > health.now:
        asks = f"asked about again at {clock_and_day(health.next_lookup_at, health.now, zone)}"
    copies = "1 copy is" if health.unknown == 1 else f"{health.unknown:,} copies are"
    return HealthLine(
        "Unknown", "unknown", "doubt", f"{copies} in doubt", f"{since}; {asks}".lstrip("; ")
    )


def _webhooks(health: Health, zone: ZoneInfo, takes_webhooks: bool) -> HealthLine:
    if not takes_webhooks:
        more = "POSTMARK_WEBHOOK_PASSWORD is not set, so news comes by asking alone"
        return HealthLine("Webhooks", "waiting", "calm", "Off", more)
    if health.webhook_at is None:
        return HealthLine("Webhooks", "waiting", "calm", "None came yet")
    last = f"last one at {clock_and_day(health.webhook_at, health.now, zone)}"
    return HealthLine("Webhooks", "sent", "sent", "Arriving", last)


def _bounces(health: Health, zone: ZoneInfo) -> HealthLine:
    last = (
        f"last at {clock_and_day(health.polled_at, health.now, zone)}" if health.polled_at else ""
    )
    if health.poll_failures:
        times = "once" if health.poll_failures == 1 else f"{health.poll_failures:,} times"
        more = f"failed {times} since; {last or 'it never went well yet'}"
        return HealthLine("Bounces", "attention", "doubt", "Could not be asked for", more)
    if not health.polled_at:
        more = "a worker asks Postmark for them every hour and after each publication"
        return HealthLine("Bounces", "waiting", "calm", "Not asked for yet", more)
    return HealthLine("Bounces", "sent", "sent", "Asked for", last)


def _a_minute(per_s: float) -> str:
    return f"{max(1, round(per_s * 60)):,} a minute"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.05 else "less than 0.1 s"
