"""Sentences for reasons, for pages, command output and the API."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from delivery.humanise import counted, digits, duration
from delivery.provider.from_settings import capabilities, provider_class, provider_name
from delivery.rules.reason import WRITE_FAULTS, Reason, Remedy
from delivery.rules.reason import ReasonCode as Code
from delivery.rules.scheduled_time import LOCAL, ScheduledTime

Params = Mapping[str, Any]


def reason_sentence(reason: Reason | None) -> str:
    """Write the reason in one or a few sentences; empty for None."""
    if reason is None:
        return ""
    try:
        sentence = _sentence(reason.code, reason.params)
    except KeyError:
        # A newer version of Homing wrote this reason: its code or its parameters are unknown here.
        sentence = f"{reason.code.replace('_', ' ').capitalize()}."
    return f"{sentence} {_remedy(reason.params)}".strip()


def _remedy(params: Params) -> str:
    remedy = params.get("remedy", "")
    return provider_class().remedy_sentence(remedy) or str(REMEDIES.get(remedy, "")).format(
        provider=provider_name()
    )


def _sentence(code: str, params: Params) -> str:
    if code == Code.OTHER:
        return str(params["text"])
    if render := RENDERERS.get(code):
        return render(params)
    if code in {Code.QUERY_STATUS, Code.QUERY_UNREADABLE, Code.QUERY_INCOMPLETE}:
        # Older versions of Homing stored the request's name instead of its constant.
        params = {**params, "subject": _SUBJECTS.get(params["subject"], params["subject"])}
    words = _in_words(params)
    sentence = str(SENTENCES[code]).format_map(words)
    if code in WRITE_FAULTS and "time" in words:
        lasted = gettext("It has lasted for {time}.").format(time=words["time"])
        return f"{sentence} {lasted}"
    return sentence


SENTENCES: Mapping[str, Promise] = {
    Code.NO_TIME_LEFT: _("The time for the call ended before anything was sent."),
    Code.NO_CONNECTION: _("No connection to {provider} at {url} ({error})."),
    Code.DATABASE_AWAY: _("The database was unavailable when the call was about to start."),
    Code.NO_RESPONSE_IN_TIME: _("{provider}'s answer was not complete before the deadline."),
    Code.CONNECTION_BROKE: _("The connection broke before {provider} answered ({error})."),
    Code.CONNECTION_ENDED: _("The connection ended before these copies were sent."),
    Code.RESPONSE_TOO_LONG: _("{provider}'s answer was too long."),
    Code.RESPONSE_UNREADABLE: _("{provider}'s answer could not be read."),
    Code.RESPONSE_COUNT_WRONG: _(
        "{provider}'s answer has the wrong number of results (sent: {sent}, answered: {answered})."
    ),
    Code.RESPONSE_WITHOUT_RESULT: _(
        "{provider}'s answer has neither an ID nor an error for this message."
    ),
    Code.RESPONSE_FOR_OTHER_ADDRESS: _(
        "{provider}'s answer names another address for this message."
    ),
    Code.RESPONSE_REPEATS_ID: _("{provider}'s answer has the same ID for several messages."),
    Code.STATUS_AMBIGUOUS: _(
        "{provider} answered with status {status}, so it is unclear what it accepted."
    ),
    Code.WORKER_LOST: _(
        "The worker crashed during the call, so it is unclear what {provider} accepted."
    ),
    Code.APPROVAL_OUTDATED: _(
        "Nothing was sent: the sender, the reply address or the newsletter's name was changed "
        "after this issue was approved. Set the earlier values again and resume, or cancel the "
        "issue and have its draft approved again."
    ),
    Code.BATCH_CRASHED: _(
        "Workers crash while they prepare or send a batch. Ask your administrator to look at the "
        "log of the workers."
    ),
    Code.PROVIDER_ERROR: _("{provider} refuses: “{text}” (code {error_code})."),
    Code.CALL_REFUSED_FOR_ONE: _(
        "{provider} refuses the whole call: “{text}” (code {error_code})."
    ),
    Code.INACTIVE_RECIPIENT: _(
        "{provider} does not deliver to this address because it is inactive (code 406)."
    ),
    Code.MAINTENANCE: _("{provider} is under maintenance."),
    Code.TOO_FAST: _("{provider} asked Homing to send more slowly (429)."),
    Code.CALL_TOO_LARGE: _("The call was too large for {provider} ({status})."),
    Code.TOKEN_REFUSED: _("{provider} does not accept the token (401)."),
    Code.BLOCKED_BEFORE_PROVIDER: _(
        "A proxy or firewall before {provider} refuses the call (403)."
    ),
    Code.MEDIA_TYPE_REFUSED: _("{provider} refuses the format of the call (415)."),
    Code.NOT_THE_API: _(
        "{provider}'s address answered with status {status}, which is not an answer of its API."
    ),
    Code.QUERY_STATUS: _("{provider} answered a request with status {status} ({subject})."),
    Code.QUERY_UNREADABLE: _("{provider}'s answer could not be read ({subject})."),
    Code.QUERY_INCOMPLETE: _("{provider}'s answer was incomplete ({subject})."),
    Code.NO_ROOM_FOR_LIST: _(
        "{provider}'s suppression list could not be saved in the folder for temporary files: "
        "{error}."
    ),
    Code.BROKE_OFF: _("The task failed. The log shows the error."),
    Code.LOOKUP_LAGS: _("{provider}'s search does not show later mail yet. Homing asks again."),
    Code.NOT_FOUND_UNPROVED: _(
        "{provider}'s search shows neither these copies nor Homing's later check mail, so "
        "{provider} may still have the copies. Check with {provider} again later. Resend them only "
        "if a second copy is acceptable."
    ),
    Code.NO_LATER_MAIL: _(
        "Nothing was accepted after these copies, so an empty search proves nothing. Homing tries "
        "to send a check mail that reaches nobody. If {provider} accepts none within {time}, an "
        "author must decide."
    ),
    Code.CHECK_MAIL_HIDDEN: _(
        "{provider}'s search does not show Homing's check mail yet, so it may not show these "
        "copies either. If it is not shown within {time}, an author must decide."
    ),
    Code.BOUNCE_RATE: _(
        "Homing paused this issue because the bounce rate is above the limit. Bounced: {count} of "
        "{sent} ({percent} %, limit {limit} %). Check where these readers came from, then resume "
        "or cancel."
    ),
    Code.COMPLAINT_RATE: _(
        "Homing paused this issue because the complaint rate is above the limit. Marked as spam: "
        "{count} of {sent} ({percent} %, limit {limit} %). Check where these readers came from, "
        "then resume or cancel."
    ),
    Code.SECOND_COPY: _(
        "{provider} accepted more than one copy for reader {recipient}: {message_ids}."
    ),
    Code.OLD_DATA_KEPT: _("Some old data could not be deleted: {rules}. The log shows the errors."),
    Code.NOT_FOUND: _("{provider} did not answer, and its search does not show this copy."),
    Code.NOT_FOUND_YET: _(
        "{provider}'s search does not show it yet. It is too early to conclude anything."
    ),
    Code.NOT_FOUND_HELD: _(
        "{provider} did not answer, and its search does not show these copies. The settings do not "
        "let Homing resend them automatically. An author must decide whether to resend them."
    ),
    Code.NOT_FOUND_RESENT: _(
        "{provider} did not answer and does not have these copies. Homing sends them again."
    ),
    Code.NOT_REPORTED_YET: _(
        "No answer came. Homing waits for a report of {provider} about these copies."
    ),
    Code.REPEATED_WITH_KEY: _(
        "No answer came. While the issue is being sent, Homing repeats the call with the same "
        "idempotency key, so {provider} sends nothing twice."
    ),
    Code.CANNOT_BE_ASKED: _(
        "No answer came, and {provider} cannot be asked what it accepted. An author must decide "
        "whether these copies count as sent or are sent again."
    ),
    Code.PROVIDER_HAS_FORGOTTEN: _(
        "{provider} did not answer, and it no longer keeps records of that time "
        "({setting}). An author must decide whether to resend these copies."
    ),
    Code.ASKED_AGAIN: _("An author or operator asked to check again with {provider}."),
    Code.RESENT_BY_OPERATOR: _("An author or operator asked to resend these copies."),
    Code.MARKED_UNSETTLED: _(
        "This copy is marked as sent but is not settled. Homing asks {provider} about it."
    ),
    Code.LEFT: _("The reader was no longer subscribed when this copy was due."),
    Code.LEFT_TOPIC: _("The reader had left the topics of this issue when this copy was due."),
    Code.NOT_HELD_ANY_MORE: _("The address was deleted before this mail was sent."),
    Code.ON_SUPPRESSION_LIST: _("The address is on the suppression list."),
    Code.EDITION_CANCELLED: _("The issue was cancelled before this copy was sent."),
    Code.EDITION_CALLED_BACK: _("The issue was called back before this copy was sent."),
    Code.ERASED: _("The reader asked to have their data erased."),
    Code.NEVER_CONFIRMED: _("The reader never confirmed, so their data was deleted."),
    Code.CALLED_BACK: _("Called back before the first copy was sent."),
    Code.CALLED_BACK_BEFORE_ITS_TIME: _("Called back before its scheduled time."),
    Code.RESTORED: _(
        "This database was restored, moved or promoted, so it may not know of copies that were "
        "sent. Run `./homing reconcile {issue}`. The issue continues automatically once Homing has "
        "compared its records with {provider}'s."
    ),
    Code.SENT_BEFORE_RESTORE: _(
        "This issue was sent before the database was restored from a backup, and {provider} has "
        "copies of it. Readers who have a copy get no second one. Resume it to send it to all "
        "other confirmed readers, or cancel it."
    ),
    Code.ACCEPTED_TWICE: _(
        "{provider} accepted a second copy for some readers. Compare {provider}'s activity with "
        "this issue's copies before you resume it."
    ),
    Code.DELIVERY_MARKED_UNSETTLED: _(
        "The copy of reader {recipient} is marked as sent but is not settled. Homing asks "
        "{provider} about it."
    ),
    Code.NOT_AT_PROVIDER: _(
        "The copy of reader {recipient} is recorded as sent, but {provider} does not show it. "
        "Homing did not send it again."
    ),
    Code.EVENT_FOR_OTHER_ADDRESS: _(
        "{provider} reported an event about the copy of reader {recipient} with another address. "
        "Homing stored it and changed nothing. Check whether another system sends mail over this "
        "{provider} server with a copy of this database."
    ),
    Code.TWO_UNSUBSCRIBE_LINKS: _(
        "UNSUBSCRIBE_HANDLING is “own”, but {provider}'s stream “{stream}” is set to “{handling}”. "
        "Readers may get two unsubscribe links. Set the stream to “Custom”, or "
        "UNSUBSCRIBE_HANDLING to “{value}”."
    ),
    Code.NO_UNSUBSCRIBE_LINK: _(
        "UNSUBSCRIBE_HANDLING is “{value}”, but {provider}'s stream “{stream}” is set to "
        "“{handling}”. Readers may get no unsubscribe link. Set the stream to “{provider}”, or "
        "UNSUBSCRIBE_HANDLING to “own”."
    ),
    Code.BOOT_ID_HIDDEN: _(
        "A worker cannot read the boot id of its machine (/proc/sys/kernel/random/boot_id), so it "
        "keeps no list of unsent calls. If it is killed, its copies wait for minutes instead of "
        "seconds. Under systemd remove ProcSubset=pid from its unit."
    ),
    Code.UNSENT_CALLS_NOT_LISTED: _(
        "A worker cannot write its list of unsent calls in HOMING_DATA_DIR: {error}. If it is "
        "killed, its copies wait for minutes instead of seconds."
    ),
    Code.DATABASE_IDENTITY_HIDDEN: _(
        "PostgreSQL does not report its {fields} to the role of the workers, so some restored "
        "backups go unnoticed. After restoring one, run ./homing reconcile --restored."
    ),
    Code.DISK_FULL: _(
        "The database's disk is full, so writes fail ({sqlstate}). Nothing is lost. Homing "
        "continues once there is space."
    ),
    Code.READ_ONLY: _(
        "The database is read-only, so writes fail ({sqlstate}). Nothing is lost. Homing continues "
        "once it accepts writes."
    ),
    Code.NO_PERMISSION: _(
        "Homing's database role lacks a permission, so writes fail ({sqlstate}). Nothing is lost. "
        "Homing continues once the permission is granted."
    ),
    Code.WRONG_ENCODING: _(
        "The database's encoding cannot hold a character, so writes fail ({sqlstate}). Homing "
        "needs a database with the encoding UTF8."
    ),
    Code.DATABASE_UNREACHABLE: _(
        "A worker cannot reach the database. Nothing is lost. Homing continues once it answers."
    ),
    Code.WRITES_FAIL: _(
        "Writes to the database fail again and again ({sqlstate}). Nothing is lost. The log of the "
        "workers shows where."
    ),
}

# The requests that can fail, by the constants of provider/provider_protocol.py.
_SUBJECTS: Mapping[str, Promise] = {
    "search": _("message search"),
    "bounces": _("list of bounces"),
    "suppression_list": _("suppression list"),
    "suppression_change": _("change of suppressions"),
}

# What to do, if the provider has no sentence of its own.
REMEDIES: Mapping[str, Promise] = {
    Remedy.CONFIRM_SENDER: _(
        "Confirm the sender’s address or domain in {provider}, or choose another sender under "
        "Settings. Then resume."
    ),
    Remedy.WAIT_FOR_APPROVAL: _("Wait until {provider} has approved the account, then resume."),
    Remedy.ASK_PROVIDER: _("Ask {provider} why this account may not send, then resume."),
    Remedy.FROM_AND_REPLY_TO: _(
        "Check the sender and the reply-to address under Settings, then resume."
    ),
    Remedy.CORRECT_ISSUE: _("Correct the issue, then publish it again as a new version."),
    Remedy.SHORTEN_ISSUE: _("Shorten the issue: a single copy of it is too large."),
    Remedy.HOMING_FAULT: _(
        "This is a fault in Homing, not in your list. No reader was marked as failed."
    ),
    Remedy.LOOK_UP_CODE: _(
        "Homing does not know this code, so it stopped before it marked any reader as failed. Look "
        "the code up in {provider}'s documentation, then resume."
    ),
}


def _tries_used_up(params: Params) -> str:
    tries = counted("{n} try failed.", "All {n} tries failed.", params["tries"])
    last = gettext("Last error: {error}").format(error=reason_sentence(params["last"]))
    return f"{tries} {last}"


def _parked(params: Params) -> str:
    return counted(
        "Parked: {n} worker crashed while it sent this copy alone.",
        "Parked: {n} workers in a row crashed with this copy, the last with this copy alone.",
        params["crashes"],
    )


def _in_words(params: Params) -> Params:
    """Convert parameters to the words for sentences, and name the provider."""
    can = capabilities()
    words = {
        "provider": can.name,
        "setting": can.remembers_setting or duration(86_400 * can.remembers_days),
        # The name of the provider as a value of UNSUBSCRIBE_HANDLING.
        "value": can.name.lower(),
    } | {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in params.items()
    }
    if "for_s" in params:
        words["time"] = duration(params["for_s"])
    return words | (_rate(params) if "percent" in params else {})


def _rate(params: Params) -> dict[str, str]:
    percent = params["percent"]
    places = 1 if percent >= 1 else 2
    return {
        "count": digits(params["count"]),
        "sent": digits(params["left"]),
        "percent": number_format(round(percent, places), places),
        "limit": number_format(f"{params['limit']:g}"),
    }


def _started_late(params: Params) -> str:
    scheduled = ScheduledTime(
        datetime.fromisoformat(params["scheduled_for"]), params["local"], params["zone"]
    )
    started_at = datetime.fromisoformat(params["started_at"])
    local = f"{started_at.astimezone(ZoneInfo(params['zone'])):{LOCAL}}"
    started = ScheduledTime(started_at, local, params["zone"])
    return gettext(
        "This issue was scheduled for {scheduled}, but no worker had started it by {started}. "
        "Resume it to send it now, or cancel it."
    ).format(scheduled=scheduled.words, started=started.words)


# Sentences that cannot be made by filling in parameters.
RENDERERS: Mapping[str, Callable[[Params], str]] = {
    Code.TRIES_USED_UP: _tries_used_up,
    Code.PARKED: _parked,
    Code.STARTED_LATE: _started_late,
}
