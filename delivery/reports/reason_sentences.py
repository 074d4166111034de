"""Renders a reason in words, for pages, command output and the API. Pure."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from delivery.rules.reason import Reason, Remedy
from delivery.rules.reason import ReasonCode as Code
from delivery.rules.scheduled_time import LOCAL, ScheduledTime

Params = Mapping[str, Any]


def reason_sentence(reason: Reason | None) -> str:
    """The reason in one or a few sentences; empty for None."""
    if reason is None:
        return ""
    template = Code.template_of(reason.code)
    try:
        render = template.format_map if template else _RENDERERS[reason.code]
        sentence = render(reason.params)
    except KeyError:
        # A newer version wrote it: its code or its parameters are unknown here.
        sentence = f"{reason.code.replace('_', ' ').capitalize()}."
    remedy = Remedy.template_of(reason.params.get("remedy", ""))
    return f"{sentence} {remedy}".strip()


def _rate(params: Params, what: str) -> str:
    percent = params["percent"]
    shown = f"{percent:.1f}" if percent >= 1 else f"{percent:.2f}"
    return (
        f"Homing paused this automatically: {params['count']:,} of {params['left']:,} copies "
        f"were {what} ({shown} %; the limit is {params['limit']:g} %). Look at where these "
        "readers came from, then resume or cancel."
    )


def _started_late(params: Params) -> str:
    scheduled = ScheduledTime(
        datetime.fromisoformat(params["scheduled_for"]), params["local"], params["zone"]
    )
    started_at = datetime.fromisoformat(params["started_at"])
    local = f"{started_at.astimezone(ZoneInfo(params['zone'])):{LOCAL}}"
    started = ScheduledTime(started_at, local, params["zone"])
    return (
        f"It was to go out {scheduled.words}, and no worker had started it before "
        f"{started.words}. Resume it to send it now, or cancel it."
    )


_RENDERERS: Mapping[str, Callable[[Params], str]] = {
    Code.TRIES_USED_UP: lambda params: (
        f"All {params['tries']} tries are used up. Last: {reason_sentence(params['last'])}"
    ),
    Code.BOUNCE_RATE: lambda params: _rate(params, "sent back"),
    Code.COMPLAINT_RATE: lambda params: _rate(params, "called spam"),
    Code.STARTED_LATE: _started_late,
    Code.SECOND_COPY: lambda params: (
        f"Postmark accepted {len(params['message_ids'])} copies for reader {params['recipient']}: "
        f"{', '.join(params['message_ids'])}."
    ),
}
