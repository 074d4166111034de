"""The sentence that says what an edition waits for, from its counts. Pure."""

from datetime import UTC, datetime, tzinfo

from delivery.humanise import clock, counted
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState, restored, state_of

NOTHING_IS_STUCK = "Sending, and nothing is stuck."


def waiting_sentence(counts: EditionCounts, zone: tzinfo = UTC) -> str:
    """What the edition waits for, with times in `zone`; empty when it waits for nothing."""
    match state_of(counts):
        case EditionState.NEEDS_ATTENTION:
            return _needs_attention(counts)
        case EditionState.PAUSED:
            return reason_sentence(counts.control_reason) or _paused(counts)
        case EditionState.SCHEDULED:
            return _scheduled(counts, zone)
        case EditionState.HELD:
            first = _clock(counts.held_until, zone)
            return f"The first copy leaves at {first}. Until then nothing goes out."
        case EditionState.SENDING:
            return _sending(counts, zone)
        case EditionState.CANCELLED | EditionState.CLOSED:
            return _ended(counts, zone)
        case _:
            return ""


def _clock(at: datetime, zone: tzinfo) -> str:
    """A time of day. UTC is named, because the times on pages are in the newsletter's zone."""
    return f"{clock(at, zone)}{' UTC' if zone is UTC else ''}"


def _needs_attention(counts: EditionCounts) -> str:
    if counts.control == "stopped":
        return reason_sentence(counts.control_reason)
    if counts.unreconciled:
        return reason_sentence(restored(counts.issue))
    if counts.missed and not counts.is_transactional:
        missed = counted(counts.missed, "reader was", "readers were")
        unknown = f" {_unknown(counts)}" if counts.unknown else ""
        return f"{missed} missed: all tries were used up, or a copy was parked.{unknown}"
    return reason_sentence(counts.reason) or _unknown(counts)


def _unknown(counts: EditionCounts) -> str:
    return f"{counted(counts.unknown, 'copy is', 'copies are')} in doubt: a person has to decide."


def _paused(counts: EditionCounts) -> str:
    sentences = []
    if counts.waiting or not counts.unknown:
        sentences.append(f"{counted(counts.queued, 'copy waits', 'copies wait')} until you resume.")
    if counts.being_sent:
        sent = counted(counts.being_sent, "copy is", "copies are")
        sentences.append(f"{sent} being sent and may still go.")
    if counts.unknown and (counts.queued_batches or counts.leased_batches):
        sentences.append(f"{counted(counts.unknown, 'copy is', 'copies are')} being asked about.")
    elif counts.unknown:
        sentences.append(_unknown(counts))
    elif counts.leased_batches and not counts.being_sent:
        sentences.append("Calls that were in flight end first.")
    return " ".join(sentences)


def _scheduled(counts: EditionCounts, zone: tzinfo) -> str:
    when = counts.scheduled.words if counts.scheduled else ""
    if counts.is_due:
        start = f"A worker starts it now, to {counts.whom}."
        if not counts.worker_is_there:
            start = _no_worker(counts, zone)
        return f"Its time has come: {when}. {start}"
    if counts.goes_to == "nobody":
        return f"Appears in the archive {when}. It is not mailed."
    return f"Goes out {when}, to {counts.whom} by then."


def _no_worker(counts: EditionCounts, zone: tzinfo) -> str:
    heard = "None was ever heard from."
    if counts.worker_heard_at:
        heard = f"The last one was heard from at {_clock(counts.worker_heard_at, zone)}."
    return (
        f"No worker is running. {heard} Start one with `./homing deliver`; nothing is lost "
        "meanwhile."
    )


def _sending(counts: EditionCounts, zone: tzinfo) -> str:
    if not counts.worker_is_there:
        return _no_worker(counts, zone)
    if counts.unknown:
        copies = counted(counts.unknown, "copy is", "copies are")
        rest = " and goes on with the rest" if counts.waiting else ""
        return f"{copies} in doubt: {_asking(counts, zone, rest)}"
    if counts.next_try_at and counts.next_try_at > counts.now and not counts.leased_batches:
        last = reason_sentence(counts.reason)
        return f"{last} The next try is at {_clock(counts.next_try_at, zone)}.".strip()
    if counts.slowed_to_per_s is not None and counts.waiting:
        per_s = counted(max(1, round(counts.slowed_to_per_s)), "copy", "copies")
        return (
            f"Postmark asked for a slower pace: about {per_s} a second for now, and more again "
            "from moment to moment."
        )
    return NOTHING_IS_STUCK


def _asking(counts: EditionCounts, zone: tzinfo, rest: str = "") -> str:
    what, at = "it" if counts.unknown == 1 else "them", counts.next_lookup_at
    again = f" Asks again at {_clock(at, zone)}." if at and at > counts.now else ""
    return f"Homing is asking Postmark about {what}{rest}.{again}"


def _ended(counts: EditionCounts, zone: tzinfo) -> str:
    if counts.waiting:
        copies = counted(counts.waiting, "copy was", "copies were")
        return f"{copies} in a call when it ended; the call is settled as it ends."
    if not counts.unknown:
        return ""
    if counts.parked_batches and not (counts.queued_batches or counts.leased_batches):
        return (
            f"{counted(counts.unknown, 'copy stays', 'copies stay')} in doubt: no proof came that "
            "Postmark accepted them, and none that it did not."
        )
    copies = counted(counts.unknown, "copy was", "copies were")
    return f"{copies} in flight when it ended: {_asking(counts, zone)}"
