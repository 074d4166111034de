"""The sentence about what an edition waits for, from its counts."""

from datetime import UTC, datetime, tzinfo

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import clock, counted
from delivery.provider.from_settings import capabilities, provider_name
from delivery.reports.edition_sentences import audience_of
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState, restored, state_of
from delivery.rules.reason import ReasonCode

NOTHING_IS_STUCK = gettext_lazy("Sending normally.")

# Reasons of an unknown batch that waits for more than its next look-up.
_AWAITS_LATER_MAIL = frozenset(
    {ReasonCode.LOOKUP_LAGS, ReasonCode.NO_LATER_MAIL, ReasonCode.CHECK_MAIL_HIDDEN}
)


def waiting_sentence(counts: EditionCounts, zone: tzinfo = UTC) -> str:
    """Write what the edition waits for, with times in `zone`; may be empty."""
    match state_of(counts):
        case EditionState.NEEDS_ATTENTION:
            return _needs_attention(counts)
        case EditionState.PAUSED:
            return reason_sentence(counts.control_reason) or _paused(counts)
        case EditionState.SCHEDULED:
            return _scheduled(counts, zone)
        case EditionState.HELD:
            first = _clock(counts.held_until, zone)
            return _("Sending starts at {time}.").format(time=first)
        case EditionState.SENDING:
            return _sending(counts, zone)
        case EditionState.CANCELLED | EditionState.CLOSED:
            return _ended(counts, zone)
        case _:
            return ""


def _clock(at: datetime, zone: tzinfo) -> str:
    """Write a time of day. UTC is named, because pages show times in another zone."""
    return f"{clock(at, zone)}{' UTC' if zone is UTC else ''}"


def _needs_attention(counts: EditionCounts) -> str:
    if counts.control == "stopped":
        return reason_sentence(counts.control_reason)
    if counts.unreconciled:
        return reason_sentence(restored(counts.issue))
    if counts.missed and not counts.is_transactional:
        missed = counted(
            "{n} reader was missed: all tries failed, or the copy was parked.",
            "{n} readers were missed: all tries failed, or the copies were parked.",
            counts.missed,
        )
        return f"{missed} {_undecided(counts)}" if counts.unknown else missed
    return reason_sentence(counts.reason) or _undecided(counts)


def _undecided(counts: EditionCounts) -> str:
    if not counts.unknown:
        return _("An author must decide how to continue.")
    return counted(
        "{n} copy is unconfirmed. An author must decide whether to resend it.",
        "{n} copies are unconfirmed. An author must decide whether to resend them.",
        counts.unknown,
    )


def _paused(counts: EditionCounts) -> str:
    sentences = []
    if counts.waiting or not counts.unknown:
        sentences.append(
            counted(
                "{n} copy waits until you resume.",
                "{n} copies wait until you resume.",
                counts.queued,
            )
        )
    if counts.being_sent:
        sentences.append(
            counted(
                "{n} copy is being sent and may still arrive.",
                "{n} copies are being sent and may still arrive.",
                counts.being_sent,
            )
        )
    if counts.unknown and (counts.queued_batches or counts.leased_batches):
        sentences.append(_looking_up(counts))
    elif counts.unknown:
        sentences.append(_undecided(counts))
    elif counts.leased_batches and not counts.being_sent:
        sentences.append(_("Calls that have started finish first."))
    return " ".join(sentences)


def _scheduled(counts: EditionCounts, zone: tzinfo) -> str:
    time = counts.scheduled.words if counts.scheduled else ""
    is_mailed, audience = counts.goes_to != "nobody", audience_of(counts)
    if not counts.is_due:
        if is_mailed:
            sentence = _("Goes out on {time} to {audience}.")
        else:
            sentence = _("Its page appears on {time}. It is not mailed.")
        return sentence.format(time=time, audience=audience)
    if counts.worker_is_there:
        if is_mailed:
            sentence = _("It was due on {time}. A worker starts it now, to {audience}.")
        else:
            sentence = _("It was due on {time}. A worker publishes its page now.")
        return sentence.format(time=time, audience=audience)
    due = _("It was due on {time}.").format(time=time)
    return f"{due} {_no_worker(counts, zone)}"


def _no_worker(counts: EditionCounts, zone: tzinfo) -> str:
    if counts.worker_heard_at is None:
        return _(
            "No worker is running, and none ever was. Start one with ./homing deliver. Nothing "
            "is lost meanwhile."
        )
    return _(
        "No worker is running. The last heartbeat was at {time}. Start a worker with ./homing "
        "deliver. Nothing is lost meanwhile."
    ).format(time=_clock(counts.worker_heard_at, zone))


def _sending(counts: EditionCounts, zone: tzinfo) -> str:
    # A worker that cannot write sends no heartbeats either.
    if counts.write_fault:
        return reason_sentence(counts.write_fault)
    if not counts.worker_is_there:
        return _no_worker(counts, zone)
    if counts.crashing:
        sentences = [_crashing(counts)]
        if counts.unknown:
            sentences += [_looking_up(counts), *_asks_again(counts, zone)]
        return " ".join(sentences)
    if counts.unknown:
        sentences = [_looking_up(counts)]
        if counts.waiting:
            sentences.append(_("It continues to send the others."))
        return " ".join([*sentences, *_asks_again(counts, zone)])
    if counts.next_try_at and counts.next_try_at > counts.now and not counts.leased_batches:
        last = reason_sentence(counts.reason)
        next_try = _("The next try is at {time}.").format(time=_clock(counts.next_try_at, zone))
        return f"{last} {next_try}".strip()
    if counts.slowed_to_per_s is not None and counts.waiting:
        return counted(
            "{provider} asked Homing to send more slowly: about {n} copy per second for now. The "
            "rate rises again step by step.",
            "{provider} asked Homing to send more slowly: about {n} copies per second for now. The "
            "rate rises again step by step.",
            max(1, round(counts.slowed_to_per_s)),
            provider=provider_name(),
        )
    if since := counts.still_since:
        due = counted("{n} copy is due.", "{n} copies are due.", counts.waiting)
        still = _("No copy has moved since {time}.").format(time=_clock(since, zone))
        return f"{due} {still}"
    return str(NOTHING_IS_STUCK)


def _crashing(counts: EditionCounts) -> str:
    crashed = counted(
        "{n} batch crashed its worker.", "{n} batches crashed their workers.", counts.crashing
    )
    next_step = _(
        "Homing tries again. It halves a batch that crashes another worker, and parks a copy that "
        "crashes workers on its own. Other copies are sent. The log of the workers has the cause."
    )
    return f"{crashed} {next_step}"


def _looking_up(counts: EditionCounts) -> str:
    can, waits_for_report = capabilities(), ReasonCode.NOT_REPORTED_YET
    if can.repeats_with_key and getattr(counts.reason, "code", None) != waits_for_report:
        return counted(
            "{n} copy is unconfirmed. Homing repeats the call with the same key, so {provider} "
            "sends nothing twice.",
            "{n} copies are unconfirmed. Homing repeats the call with the same key, so {provider} "
            "sends nothing twice.",
            counts.unknown,
            provider=can.name,
        )
    if not can.can_be_asked:
        return counted(
            "{n} copy is unconfirmed. Homing waits for a report of {provider} about it.",
            "{n} copies are unconfirmed. Homing waits for reports of {provider} about them.",
            counts.unknown,
            provider=provider_name(),
        )
    return counted(
        "{n} copy is unconfirmed. Homing is asking {provider} about it.",
        "{n} copies are unconfirmed. Homing is asking {provider} about them.",
        counts.unknown,
        provider=provider_name(),
    )


def _asks_again(counts: EditionCounts, zone: tzinfo) -> list[str]:
    sentences = []
    if counts.reason is not None and counts.reason.code in _AWAITS_LATER_MAIL:
        sentences.append(reason_sentence(counts.reason))
    if counts.next_lookup_at is not None and counts.next_lookup_at > counts.now:
        at = _clock(counts.next_lookup_at, zone)
        sentences.append(_("The next look-up is at {time}.").format(time=at))
    return sentences


def _ended(counts: EditionCounts, zone: tzinfo) -> str:
    if counts.waiting:
        return counted(
            "{n} copy was being sent when the issue ended. Its outcome follows when its call ends.",
            "{n} copies were being sent when the issue ended. Their outcome follows when the call "
            "ends.",
            counts.waiting,
        )
    if not counts.unknown:
        return ""
    is_decided = counts.parked_batches and not (counts.queued_batches or counts.leased_batches)
    if is_decided or not capabilities().can_be_asked:
        return counted(
            "{n} copy stays unconfirmed: nothing shows whether {provider} accepted it.",
            "{n} copies stay unconfirmed: nothing shows whether {provider} accepted them.",
            counts.unknown,
            provider=provider_name(),
        )
    asking = counted(
        "{n} copy was being sent when the issue ended. Homing is asking {provider} about it.",
        "{n} copies were being sent when the issue ended. Homing is asking {provider} about them.",
        counts.unknown,
        provider=provider_name(),
    )
    return " ".join([asking, *_asks_again(counts, zone)])
