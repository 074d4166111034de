"""Renders a reason in words, for pages, command output and the API. Pure."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from delivery.humanise import clock, counted
from delivery.rules.edition_counts import AUDIENCE_WORDS
from delivery.rules.reason import Reason, Remedy
from delivery.rules.reason import ReasonCode as Code
from delivery.rules.scheduled_time import LOCAL, ScheduledTime

Params = Mapping[str, Any]


def reason_sentence(reason: Reason | None, zone: tzinfo = UTC) -> str:
    """The reason in one or a few sentences with times in `zone`; empty for None."""
    if reason is None:
        return ""
    template = Code.template_of(reason.code)
    try:
        if template:
            sentence = template.format_map(reason.params)
        else:
            sentence = _RENDERERS[reason.code](reason.params, zone)
    except KeyError:
        # A newer version wrote it: its code or its parameters are unknown here.
        sentence = f"{reason.code.replace('_', ' ').capitalize()}."
    remedy = Remedy.template_of(reason.params.get("remedy", ""))
    return f"{sentence} {remedy}".strip()


def _clock(at: datetime, zone: tzinfo) -> str:
    """A time of day. UTC is named, because the times on pages are in the newsletter's zone."""
    return f"{clock(at, zone)}{' UTC' if zone is UTC else ''}"


def _in_doubt(unknown: int) -> str:
    return f"{counted(unknown, 'copy is', 'copies are')} in doubt: a person has to decide."


def _tries_used_up(params: Params, zone: tzinfo) -> str:
    return f"All {params['tries']} tries are used up. Last: {reason_sentence(params['last'], zone)}"


def _rate(what: str) -> Callable[[Params, tzinfo], str]:
    def sentence(params: Params, zone: tzinfo) -> str:
        percent = params["percent"]
        shown = f"{percent:.1f}" if percent >= 1 else f"{percent:.2f}"
        return (
            f"Homing paused this automatically: {params['count']:,} of {params['left']:,} copies "
            f"were {what} ({shown} %; the limit is {params['limit']:g} %). Look at where these "
            "readers came from, then resume or cancel."
        )

    return sentence


def _started_late(params: Params, zone: tzinfo) -> str:
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


def _readers_missed(params: Params, zone: tzinfo) -> str:
    unknown = f" {_in_doubt(params['unknown'])}" if params["unknown"] else ""
    return (
        f"{counted(params['missed'], 'reader was', 'readers were')} missed: all tries were used "
        f"up, or a copy was parked.{unknown}"
    )


def _paused(params: Params, zone: tzinfo) -> str:
    unknown, being_sent = params["unknown"], params["being_sent"]
    sentences = []
    if params["waiting"] or not unknown:
        sentences.append(
            f"{counted(params['queued'], 'copy waits', 'copies wait')} until you resume."
        )
    if being_sent:
        sentences.append(
            f"{counted(being_sent, 'copy is', 'copies are')} being sent and may still go."
        )
    if unknown and params["is_looking_up"]:
        sentences.append(f"{counted(unknown, 'copy is', 'copies are')} being asked about.")
    elif unknown:
        sentences.append(_in_doubt(unknown))
    elif params["is_in_call"] and not being_sent:
        sentences.append("Calls that were in flight end first.")
    return " ".join(sentences)


def _scheduled(params: Params, zone: tzinfo) -> str:
    when = params["moment"].words
    if params["goes_to"] == "nobody":
        return f"Appears in the archive {when}. It is not mailed."
    return f"Goes out {when}, to {AUDIENCE_WORDS[params['goes_to']]} by then."


def _no_worker(params: Params, zone: tzinfo) -> str:
    heard = (
        f"The last one was heard from at {_clock(params['heard_at'], zone)}."
        if params["heard_at"]
        else "None was ever heard from."
    )
    return (
        f"No worker is running. {heard} Start one with `./homing deliver`; nothing is lost "
        "meanwhile."
    )


def _looking_up(one: str, many: str, where: str) -> Callable[[Params, tzinfo], str]:
    def sentence(params: Params, zone: tzinfo) -> str:
        unknown, at = params["unknown"], params["next_lookup_at"]
        rest = " and goes on with the rest" if params.get("waiting") else ""
        again = f" Asks again at {_clock(at, zone)}." if at else ""
        return (
            f"{counted(unknown, one, many)} {where}: Homing is asking Postmark about "
            f"{'it' if unknown == 1 else 'them'}{rest}.{again}"
        )

    return sentence


def _retry(params: Params, zone: tzinfo) -> str:
    last = reason_sentence(params["last"], zone)
    return f"{last} The next try is at {_clock(params['at'], zone)}.".strip()


def _slowed(params: Params, zone: tzinfo) -> str:
    per_s = counted(max(1, round(params["per_s"])), "copy", "copies")
    return (
        f"Postmark asked for a slower pace: about {per_s} a second for now, and more again from "
        "moment to moment."
    )


_RENDERERS: Mapping[str, Callable[[Params, tzinfo], str]] = {
    Code.TRIES_USED_UP: _tries_used_up,
    Code.BOUNCE_RATE: _rate("sent back"),
    Code.COMPLAINT_RATE: _rate("called spam"),
    Code.STARTED_LATE: _started_late,
    Code.SECOND_COPY: lambda params, _zone: (
        f"Postmark accepted {len(params['message_ids'])} copies for reader {params['recipient']}: "
        f"{', '.join(params['message_ids'])}."
    ),
    Code.READERS_MISSED: _readers_missed,
    Code.UNKNOWN_NEEDS_DECISION: lambda params, _zone: _in_doubt(params["unknown"]),
    Code.PAUSED: _paused,
    Code.SCHEDULED: _scheduled,
    Code.DUE: lambda params, _zone: (
        f"Its time has come: {params['moment'].words}. A worker starts it now, to "
        f"{AUDIENCE_WORDS[params['goes_to']]}."
    ),
    Code.DUE_NO_WORKER: lambda params, zone: (
        f"Its time has come: {params['moment'].words}. {_no_worker(params, zone)}"
    ),
    Code.HELD: lambda params, zone: (
        f"The first copy leaves at {_clock(params['until'], zone)}. Until then nothing goes out."
    ),
    Code.ENDED_IN_CALL: lambda params, _zone: (
        f"{counted(params['waiting'], 'copy was', 'copies were')} in a call when it ended; the "
        "call is settled as it ends."
    ),
    Code.ENDED_UNPROVED: lambda params, _zone: (
        f"{counted(params['unknown'], 'copy stays', 'copies stay')} in doubt: no proof came that "
        "Postmark accepted them, and none that it did not."
    ),
    Code.ENDED_LOOKING_UP: _looking_up("copy was", "copies were", "in flight when it ended"),
    Code.NO_WORKER: _no_worker,
    Code.LOOKING_UP: _looking_up("copy is", "copies are", "in doubt"),
    Code.RETRY: _retry,
    Code.SLOWED: _slowed,
}
