"""Sentences about the progress of an edition."""

from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import clock, counted, digits
from delivery.interface import ReasonCode, provider_name
from delivery.reports.edition_sentences import ARCHIVE_ONLY
from delivery.reports.waiting_sentence import NOTHING_IS_STUCK
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.editions.edition_status import EditionStatus
from publishing.scheduling.local_time import late_start_sentence

NEEDS_APPROVAL = gettext_lazy(
    "This issue cannot be sent: the sender, the reply address or the newsletter's name was changed "
    "after the approval. Set the earlier values again, or cancel the issue and have its draft "
    "approved again."
)


def sentence_of(status: EditionStatus, zone: ZoneInfo) -> str:
    """Say the state with its reason or result, and what the author can do."""
    return f"{_state_sentence(status, zone)} {_late_start(status)}".strip()


def how_far(status: EditionStatus) -> str:
    """Say how much of a version was sent, or why nothing was sent."""
    counts = status.counts
    if not counts.has_started:
        return status.reason() or _("Sent to nobody")
    if counts.goes_to == "nobody":
        return _("Not mailed: archive only")
    return _("{sent} of {audience} sent").format(
        sent=digits(counts.sent), audience=digits(counts.audience)
    )


def _late_start(status: EditionStatus) -> str:
    counts, reason = status.counts, status.counts.control_reason
    is_in_reason = reason is not None and reason.code == ReasonCode.STARTED_LATE
    is_in_reason = is_in_reason and status.state is EditionState.PAUSED
    if counts.scheduled is None or not counts.has_started or is_in_reason:
        return ""
    return late_start_sentence(counts.scheduled, counts.published_at)


def _state_sentence(status: EditionStatus, zone: ZoneInfo) -> str:
    counts, reason = status.counts, status.reason(zone)
    match status.state:
        case EditionState.SCHEDULED:
            return reason
        case EditionState.HELD:
            return " ".join((_("Held."), held_sentence(counts, zone)))
        case EditionState.SUCCEEDED:
            return _succeeded(counts)
        case EditionState.CANCELLED:
            return _cancelled(counts, reason)
        case EditionState.CLOSED:
            return f"{_closed(counts)} {reason}"
        case EditionState.NEEDS_ATTENTION:
            # If the edition was stopped and no copy failed, every reader can still get a copy.
            has_lost = counts.control != "stopped" or counts.failed
            kept = "" if has_lost else _("Sending is paused. No copy was marked as failed.")
            return " ".join(filter(None, (_("Needs attention."), reason, kept)))
        case EditionState.PAUSED:
            return " ".join((_("Paused."), reason))
        case EditionState.SENDING:
            stuck = what_is_stuck(status, zone)
            return " ".join((_("Sending."), stuck)) if stuck else reason


def held_sentence(counts: EditionCounts, zone: ZoneInfo) -> str:
    """Say when the first copy is sent, and to how many readers the issue goes."""
    return counted(
        "The first copy is sent at {time}. The issue goes to {n} reader. Until then you can call "
        "it back.",
        "The first copy is sent at {time}. The issue goes to {n} readers. Until then you can call "
        "it back.",
        counts.audience,
        time=clock(counts.held_until, zone),
    )


def what_is_stuck(status: EditionStatus, zone: ZoneInfo) -> str:
    """Say why sending an edition is slow; empty if nothing slows it."""
    reason = status.reason(zone)
    return "" if reason == str(NOTHING_IS_STUCK) else reason


def _without(counts: EditionCounts) -> int:
    """Count the readers who certainly got no copy. Unknown outcomes are not counted."""
    return counts.audience - counts.sent - counts.unknown - counts.waiting


def _did_not_get_it(number: int) -> str:
    return counted("{n} reader did not get it.", "{n} readers did not get it.", number)


def _cancelled(counts: EditionCounts, reason: str) -> str:
    if counts.is_called_back:
        return _("Called back. It was sent to nobody. Its text is kept.")
    if not (counts.sent or counts.unknown or counts.waiting):
        done = _("Cancelled. It was sent to nobody. Its text is kept for the next version.")
        return f"{done} {reason}"
    reached = counted(
        "Cancelled. It was sent to {n} reader.",
        "Cancelled. It was sent to {n} readers.",
        counts.sent,
    )
    return f"{reached} {_did_not_get_it(_without(counts))} {reason}"


def _closed(counts: EditionCounts) -> str:
    sent = counted("Closed. {n} copy was sent.", "Closed. {n} copies were sent.", counts.sent)
    without = _without(counts)
    return f"{sent} {_did_not_get_it(without)}" if without else sent


_WENT_TO_NOBODY = {
    "everyone": gettext_lazy("This issue went to nobody: there was no confirmed reader."),
    "reached": gettext_lazy(
        "This version went to nobody: no reader of an earlier one was still confirmed."
    ),
    "unreached": gettext_lazy(
        "This version went to nobody: every confirmed reader was already sent an earlier one."
    ),
    "nobody": ARCHIVE_ONLY,
}
_NO_MATCH = gettext_lazy(
    "This version went to nobody: no confirmed reader met both conditions, the tags and the choice "
    "under “Who gets it”."
)
_BY_TAGS_TO_NOBODY = {
    "everyone": gettext_lazy("This issue went to nobody: no confirmed reader matched the tags."),
    "reached": _NO_MATCH,
    "unreached": _NO_MATCH,
}


def _succeeded(counts: EditionCounts) -> str:
    if not counts.audience:
        by_tags = _BY_TAGS_TO_NOBODY if counts.has_tags else {}
        return str(by_tags.get(counts.goes_to) or _WENT_TO_NOBODY[counts.goes_to])
    sentences = [
        counted(
            "Succeeded. {provider} accepted {n} copy.",
            "Succeeded. {provider} accepted {n} copies, one for each reader.",
            counts.sent,
            provider=provider_name(),
        )
    ]
    if counts.withdrawn:
        sentences.append(
            counted(
                "{n} reader unsubscribed before their copy was sent.",
                "{n} readers unsubscribed before their copies were sent.",
                counts.withdrawn,
            )
        )
    if counts.suppressed:
        sentences.append(
            counted(
                "{n} reader must not be mailed.",
                "{n} readers must not be mailed.",
                counts.suppressed,
            )
        )
    if counts.failed:
        sentences.append(
            counted(
                "{n} reader cannot be mailed at the address they gave.",
                "{n} readers cannot be mailed at the addresses they gave.",
                counts.failed,
            )
        )
    if counts.audience > counts.sent:
        sentences.append(_("Nobody was missed."))
    return " ".join(sentences)
