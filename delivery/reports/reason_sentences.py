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
    try:
        if reason.code in _TEMPLATES:
            sentence = _TEMPLATES[reason.code].format_map(reason.params)
        else:
            sentence = _RENDERERS[reason.code](reason.params, zone)
    except KeyError:
        # A newer version wrote it: its code or its parameters are unknown here.
        sentence = f"{reason.code.replace('_', ' ').capitalize()}."
    remedy = _REMEDIES.get(reason.params.get("remedy", ""), "")
    return f"{sentence} {remedy}".strip()


_TEMPLATES: Mapping[str, str] = {
    Code.NO_TIME_LEFT: "The time for the call had ended before its first byte.",
    Code.NO_CONNECTION: "No connection to Postmark at {url} ({error}).",
    Code.DATABASE_AWAY: "The database was away when the call was about to start.",
    Code.NO_RESPONSE_IN_TIME: "No complete answer came before the deadline.",
    Code.CONNECTION_BROKE: "The connection broke before the answer ({error}).",
    Code.RESPONSE_TOO_LONG: "Postmark's answer was too long.",
    Code.RESPONSE_UNREADABLE: "Postmark's answer could not be read.",
    Code.RESPONSE_COUNT_WRONG: "Postmark answered for {answered} messages; {sent} were sent.",
    Code.RESPONSE_WITHOUT_RESULT: "Postmark's answer held neither an id nor an error.",
    Code.RESPONSE_FOR_OTHER_ADDRESS: "Postmark's answer names another address at this place.",
    Code.RESPONSE_REPEATS_ID: "Postmark's answer gave one id to several messages.",
    Code.STATUS_AMBIGUOUS: "Postmark answered {status}, which leaves open what it accepted.",
    Code.WORKER_LOST: "The worker was lost during the call; Postmark is asked about it.",
    Code.PROVIDER_ERROR: "Postmark refuses: “{text}” (code {error_code}).",
    Code.CALL_REFUSED_FOR_ONE: "Postmark refused the whole call: “{text}” (code {error_code}).",
    Code.INACTIVE_RECIPIENT: (
        "Postmark will not mail this address (code 406): it is inactive there."
    ),
    Code.MAINTENANCE: "Postmark is under maintenance.",
    Code.TOO_FAST: "Postmark asked for a slower pace (429).",
    Code.CALL_TOO_LARGE: "Postmark found the call too large ({status}).",
    Code.TOKEN_REFUSED: "Postmark does not accept the token (401).",
    Code.BLOCKED_BEFORE_PROVIDER: "Something before Postmark refuses the call (403).",
    Code.MEDIA_TYPE_REFUSED: "Postmark refuses the form of the call (415).",
    Code.NOT_THE_API: "Postmark's address answered {status}, which is no answer of its API.",
    Code.QUERY_STATUS: "Postmark's {subject} answered {status}, which says nothing.",
    Code.QUERY_UNREADABLE: "Postmark's {subject} gave an answer that could not be read.",
    Code.QUERY_INCOMPLETE: "Postmark's {subject} did not show all that it says it has.",
    Code.NO_ROOM_FOR_LIST: (
        "Postmark's suppression list could not be put into the folder for temporary files: {error}."
    ),
    Code.BROKE_OFF: "It broke off; the log says why.",
    Code.LOOKUP_LAGS: "Postmark's search does not show later mail yet; it is asked again.",
    Code.NOT_FOUND: "No answer came, and Postmark's search does not show it.",
    Code.NOT_FOUND_YET: "Not found by Postmark's search yet, which proves nothing this early.",
    Code.NOT_FOUND_HELD: (
        "No answer came, Postmark's search does not show them, and they may not be sent again "
        "automatically: a person decides."
    ),
    Code.NOT_FOUND_RESENT: "No answer came and Postmark surely does not have them: they go again.",
    Code.PROVIDER_HAS_FORGOTTEN: (
        "No answer came, and it was so long ago that Postmark has forgotten it "
        "(POSTMARK_RETENTION_DAYS): a person decides."
    ),
    Code.ASKED_AGAIN: "A person had Postmark asked again.",
    Code.RESENT_BY_OPERATOR: "A person had them sent again.",
    Code.MARKED_UNSETTLED: (
        "It bears a mark of having been sent, but is not settled: Postmark is asked."
    ),
    Code.LEFT: "Left the list before this copy was sent.",
    Code.NOT_HELD_ANY_MORE: "The address was deleted before this mail was sent.",
    Code.ON_SUPPRESSION_LIST: "On the list of addresses that may not be mailed.",
    Code.EDITION_CANCELLED: "The issue was cancelled before this copy was sent.",
    Code.EDITION_CALLED_BACK: "The issue was called back before this copy was sent.",
    Code.PARKED: "Parked: {crashes} workers in a row were lost with it, the last with it alone.",
    Code.ERASED: "The reader had themselves erased.",
    Code.NEVER_CONFIRMED: "The reader never confirmed, and is forgotten.",
    Code.CALLED_BACK: "Called back before the first copy left.",
    Code.CALLED_BACK_BEFORE_ITS_TIME: "Called back before its time.",
    Code.RESTORED: (
        "This database is not the one that the workers knew: it was restored, moved or promoted, "
        "so copies may have gone out that it does not know of. Run `./homing reconcile {issue}`; "
        "the edition goes on automatically once Homing has compared itself with Postmark's record."
    ),
    Code.SENT_BEFORE_RESTORE: (
        "It went out before the database was restored from a backup: Postmark has copies of it. "
        "Who has one gets no second; resume it for everybody else who is confirmed, or cancel it."
    ),
    Code.ACCEPTED_TWICE: (
        "Postmark accepted a second copy for some of its readers. Compare Postmark's activity "
        "with the record before resuming."
    ),
    Code.DELIVERY_MARKED_UNSETTLED: (
        "The copy of reader {recipient} bears a mark of having been sent without being settled; "
        "Postmark is asked about it."
    ),
    Code.NOT_AT_PROVIDER: (
        "The copy of reader {recipient} is recorded as sent, and Postmark does not show it. It was "
        "not sent again."
    ),
    Code.SENDING: "Sending, and nothing is stuck.",
    Code.OTHER: "{text}",
}

_REMEDIES: Mapping[str, str] = {
    Remedy.TOKEN: "Check POSTMARK_SERVER_TOKEN: it must be the token of a Postmark server.",
    Remedy.ENABLE_API: "Ask Postmark's support to enable this API for the account.",
    Remedy.CONFIRM_SENDER: "Confirm the address or domain of FROM_EMAIL in Postmark, then resume.",
    Remedy.CONFIRM_SIGNATURE: (
        "Confirm the sender signature of FROM_EMAIL in Postmark, then resume."
    ),
    Remedy.PLAN_AND_CREDITS: "Check the plan and credits of the Postmark account, then resume.",
    Remedy.WAIT_FOR_APPROVAL: "Wait until Postmark has approved the account, then resume.",
    Remedy.ASK_PROVIDER: "Ask Postmark why this account may not send, then resume.",
    Remedy.TOKEN_AND_SERVER: (
        "Check POSTMARK_SERVER_TOKEN and the Postmark server it belongs to, then resume."
    ),
    Remedy.STREAM_NAMES: (
        "Check POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM, then resume."
    ),
    Remedy.STREAM_THAT_SENDS: (
        "Name a stream that can send in POSTMARK_BROADCAST_STREAM, then resume."
    ),
    Remedy.ALLOWED_IPS: (
        "Put this machine's address on the Postmark server's list of allowed IPs, then resume."
    ),
    Remedy.SIGNATURES_AND_DOMAINS: "Check sender signatures and domains in Postmark, then resume.",
    Remedy.SERVER_SETTINGS: "Check the settings of the Postmark server, then resume.",
    Remedy.STREAM_SETTINGS: "Check the message streams of the Postmark server, then resume.",
    Remedy.FROM_AND_REPLY_TO: "Check FROM_EMAIL and the reply-to, then resume.",
    Remedy.CORRECT_ISSUE: "Correct the issue; then publish it again as a new version.",
    Remedy.SHORTEN_ISSUE: "Shorten the issue: a single copy of it is too large.",
    Remedy.NETWORK: "Check POSTMARK_BASE_URL and the network between this machine and Postmark.",
    Remedy.BASE_URL: "Check POSTMARK_BASE_URL, then resume.",
    Remedy.HOMING_FAULT: (
        "This is a fault of Homing, not of the list; no reader was marked as failed."
    ),
    Remedy.LOOK_UP_CODE: (
        "Homing does not know this code, so it stopped before any reader was marked as failed. "
        "Look it up in Postmark's documentation, then resume."
    ),
}


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
