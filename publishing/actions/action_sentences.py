"""The texts of the actions: question, button, answer and refusal."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from delivery.humanise import counted, digits
from delivery.interface import provider_name
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.editions.edition_status import EditionStatus
from publishing.flash_messages import (
    UNTIL_CONFIRMED,
    UNTIL_LEFT,
    UNTIL_RESUMED,
    UNTIL_SETTLED,
)


class ActionRefusal(Enum):
    """Why an action does not apply, as a sentence with the title of the issue."""

    RESTORED = gettext_noop(
        "“{title}”: the database was restored from a backup. Run ./homing reconcile first, so that "
        "no copy is sent twice."
    )
    TRANSACTIONAL = gettext_noop(
        "“{title}”: readers request this mail at any time, so it has no end. You can pause it and "
        "resume it later."
    )
    NOT_STARTED = gettext_noop(
        "“{title}”: it is scheduled and nothing is being sent, so you cannot pause it. Call it "
        "back if it should not go out."
    )
    PAUSED = gettext_noop("“{title}”: it is paused. Resume it first.")
    NEEDS_APPROVAL = gettext_noop(
        "“{title}”: the sender, the reply address or the newsletter's name was changed after the "
        "approval. Set the earlier values again, or cancel the issue and have its draft approved "
        "again."
    )
    DUE = gettext_noop(
        "“{title}”: its time has come and a worker is starting it. You can pause it once it is "
        "being sent."
    )
    NOTHING_WAITING = gettext_noop(
        "“{title}”: no copies are queued, so you cannot cancel it. Close it instead."
    )
    STILL_WORKING = gettext_noop(
        "“{title}”: some copies are still queued or being checked. Cancel it, or wait until they "
        "are settled."
    )
    NOBODY_MISSED = gettext_noop("“{title}”: no reader was missed.")
    CLOSED = gettext_noop("“{title}”: it is closed.")
    NOTHING_TO_DECIDE = gettext_noop("“{title}”: no unconfirmed copy needs your decision.")
    CANNOT_BE_ASKED = gettext_noop("“{title}”: {provider} cannot be asked what it accepted.")
    CAN_BE_ASKED = gettext_noop(
        "“{title}”: {provider} can be asked what it accepted, so only its answer counts."
    )
    MOVED_ON = gettext_noop(
        "“{title}”: its state changed in the meantime, so nothing was done. Refresh the page and "
        "choose again."
    )
    RESCHEDULED_MEANWHILE = gettext_noop(
        "Its time was changed in the meantime: it goes out on {time}. Nothing was changed now. "
        "Choose again if you want another time."
    )
    # After each of these refusals, pages show a sentence about the state of the issue.
    NOT_SENDING = gettext_noop(
        "“{title}”: you can pause an issue only while it is held or being sent."
    )
    NOT_PAUSED = gettext_noop("“{title}”: there is nothing to resume.")
    HOLD_ENDED = gettext_noop("“{title}”: its hold has ended.")
    TOO_LATE_TO_CALL_BACK = gettext_noop(
        "“{title}”: its hold has ended. You can still cancel the copies that have not been sent."
    )
    NOTHING_TO_CALL_BACK = gettext_noop("“{title}”: there is nothing to call back.")
    NOT_SCHEDULED = gettext_noop("“{title}”: you can change the time of a scheduled issue only.")
    NOTHING_TO_CANCEL = gettext_noop("“{title}”: there is nothing left to cancel.")
    NOTHING_TO_CLOSE = gettext_noop("“{title}”: there is nothing to close.")
    NOTHING_TO_ACCEPT = gettext_noop(
        "“{title}”: it has no missed readers and no unconfirmed copies, so there is nothing to "
        "close."
    )
    NOTHING_MORE_IS_SENT = gettext_noop("“{title}”: no more copies of it will be sent.")


_WITH_STATE = frozenset(
    {
        ActionRefusal.NOT_SENDING,
        ActionRefusal.NOT_PAUSED,
        ActionRefusal.HOLD_ENDED,
        ActionRefusal.TOO_LATE_TO_CALL_BACK,
        ActionRefusal.NOTHING_TO_CALL_BACK,
        ActionRefusal.NOT_SCHEDULED,
        ActionRefusal.NOTHING_TO_CANCEL,
        ActionRefusal.NOTHING_TO_CLOSE,
        ActionRefusal.NOTHING_TO_ACCEPT,
        ActionRefusal.NOTHING_MORE_IS_SENT,
    }
)
_STATES = {
    EditionState.SCHEDULED: gettext_lazy("It is scheduled."),
    EditionState.HELD: gettext_lazy("It is held."),
    EditionState.SENDING: gettext_lazy("It is being sent."),
    EditionState.PAUSED: gettext_lazy("It is paused."),
    EditionState.NEEDS_ATTENTION: gettext_lazy("It needs attention."),
    EditionState.SUCCEEDED: gettext_lazy("It has been sent."),
    EditionState.CANCELLED: gettext_lazy("It was cancelled."),
    EditionState.CLOSED: gettext_lazy("It is closed."),
}


def refusal_sentence(refusal: ActionRefusal, status: EditionStatus) -> str:
    """Return the sentence that says why nothing was done."""
    sentence = _(refusal.value).format(
        title=status.counts.title, time=_scheduled_time(status), provider=provider_name()
    )
    if refusal not in _WITH_STATE:
        return sentence
    state = _("It was called back.") if status.counts.is_called_back else _STATES[status.state]
    return f"{sentence} {state}"


def question(action: str, status: EditionStatus, readers_now: int) -> str:
    """Say what the action will do, with the current counts."""
    return " ".join(filter(None, _question(action, status, readers_now)))


def _question(action: str, status: EditionStatus, readers_now: int) -> list[str]:
    counts, is_scheduled = status.counts, status.counts.control == "scheduled"
    undecided = counts.awaiting_decision
    match action:
        case "pause":
            return [
                _have_a_copy(counts.sent),
                _will_wait(counts),
                _may_still_go(counts.being_sent),
                _("You can resume later."),
            ]
        case "resume" if not counts.queued:
            return [_("No copies are queued. Homing continues with the unconfirmed copies.")]
        case "resume" if counts.control == "stopped":
            return [
                _will_be_sent(counts.queued),
                _(
                    "One batch goes first, and the rest follows when {provider} has answered. If "
                    "the fault remains, Homing stops again after one call."
                ).format(provider=provider_name()),
            ]
        case "resume":
            return [_will_be_sent(counts.queued), _("No reader gets a second copy.")]
        case "send-now" if is_scheduled and counts.goes_to == "nobody":
            return [
                _page_alone(),
                _("Its scheduled time was {time}.").format(time=_scheduled_time(status)),
                _("It is not held, so you cannot call it back."),
            ]
        case "send-now" if is_scheduled:
            return [
                counted(
                    "The issue goes out now, to {n} reader who is confirmed at this moment.",
                    "The issue goes out now, to {n} readers who are confirmed at this moment.",
                    readers_now,
                ),
                _("Its scheduled time was {time}.").format(time=_scheduled_time(status)),
                _("It is not held, so you cannot call it back."),
            ]
        case "send-now":
            return [
                counted(
                    "The hold ends now and {n} copy is sent.",
                    "The hold ends now and {n} copies are sent.",
                    counts.waiting,
                ),
                _("You can no longer call the issue back."),
            ]
        case "call-back" if is_scheduled:
            return _calling_off(status, readers_now)
        case "call-back":
            return [
                _("Nothing has been sent."),
                counted(
                    "{n} reader will not get it.", "{n} readers will not get it.", counts.audience
                ),
                _("The issue becomes a draft again."),
            ]
        case "cancel" if is_scheduled:
            return [*_calling_off(status, readers_now), _("You cannot undo this.")]
        case "cancel":
            return _cancelling(counts)
        case "close":
            return [
                _have_a_copy(counts.sent),
                _missed(counts.missed),
                _stay_unconfirmed(counts.unknown),
                _("If you close this version, no more copies are sent."),
            ]
        case "send-to-missed":
            return [
                counted(
                    "{n} reader did not get their copy, although nothing is wrong with their "
                    "address.",
                    "{n} readers did not get their copy, although nothing is wrong with their "
                    "addresses.",
                    counts.missed,
                ),
                _("Homing tries again to send to them. No other reader gets a copy."),
            ]
        case "ask-again":
            return [
                counted(
                    "Homing checks {n} copy with {provider} again.",
                    "Homing checks {n} copies with {provider} again.",
                    undecided,
                    provider=provider_name(),
                ),
                _("No copy is sent."),
            ]
        case "treat-as-sent":
            return [
                counted(
                    "{n} copy left for {provider}, and no answer came back. It will count as sent.",
                    "{n} copies left for {provider}, and no answer came back. They will count as "
                    "sent.",
                    undecided,
                    provider=provider_name(),
                ),
                _("Nothing is sent. A reader whose copy was lost gets none."),
            ]
        case _:
            return [
                counted(
                    "Homing resends up to {n} copy. It skips copies that {provider} is known "
                    "to have.",
                    "Homing resends up to {n} copies. It skips copies that {provider} is known "
                    "to have.",
                    undecided,
                    provider=provider_name(),
                ),
                _("A reader who did get the first copy gets a second one."),
            ]


def button(action: str, status: EditionStatus, readers_now: int) -> str:
    """Label the button of an action with its verb and the number of copies or readers."""
    counts, is_scheduled = status.counts, status.counts.control == "scheduled"
    # While copies are being sent, the number of waiting copies can still change.
    is_certain = counts.waiting > 0 and not counts.being_sent
    is_page_alone = is_scheduled and counts.goes_to == "nobody"
    readers = readers_now if is_scheduled else counts.waiting
    match action:
        # An issue that is not mailed has no readers to count.
        case "send-now" if is_page_alone:
            return _("Publish")
        case "call-back" if is_page_alone:
            return _("Call back")
        case "cancel" if is_page_alone:
            return _("Cancel")
        case "pause" if is_certain:
            return counted("Pause {n} copy", "Pause {n} copies", counts.queued)
        case "pause":
            return _("Pause")
        case "resume" if counts.queued:
            return counted("Resume for {n} reader", "Resume for {n} readers", counts.queued)
        case "resume":
            return _("Resume")
        case "send-now":
            return counted("Send to {n} reader now", "Send to {n} readers now", readers)
        case "call-back" if is_scheduled:
            return counted("Call back for {n} reader", "Call back for {n} readers", readers)
        case "call-back":
            return counted("Call back {n} copy", "Call back {n} copies", counts.waiting)
        case "cancel" if is_scheduled or is_certain:
            return counted("Cancel for {n} reader", "Cancel for {n} readers", readers)
        case "cancel":
            return _("Cancel the rest")
        case "close":
            return _("Close with {sent} of {audience} sent").format(
                sent=digits(counts.sent), audience=digits(counts.audience)
            )
        case "send-to-missed":
            return counted("Send to {n} reader", "Send to {n} readers", counts.missed)
        case "ask-again":
            n = counts.awaiting_decision
            return counted("Check {n} copy again", "Check {n} copies again", n)
        case "treat-as-sent":
            n = counts.awaiting_decision
            return counted("Count {n} copy as sent", "Count {n} copies as sent", n)
        case _:
            return counted("Resend {n} copy", "Resend {n} copies", counts.awaiting_decision)


class Done(NamedTuple):
    """A sentence about what was done.

    The tag `until` says when the sentence is outdated.
    """

    sentence: str
    until: str = ""


def done_sentences(action: str, numbers: Mapping[str, Any], draft: str) -> list[Done]:
    """Return sentences that say what was done, with exact counts.

    `draft` is a sentence about the draft if the issue became a draft again, otherwise empty.
    """
    if draft:
        done = _("Called back.") if action == "call-back" else _("Cancelled.")
        return [Done(f"{done} {draft}")]
    return [done for done in _done(action, numbers) if done.sentence]


def in_one_line(done: Sequence[Done]) -> str:
    """Return the sentences as one text, for programs."""
    return " ".join(one.sentence for one in done)


def _done(action: str, numbers: Mapping[str, Any]) -> list[Done]:
    deliveries, withdrawn = numbers.get("copies", 0), numbers.get("withdrawn", 0)
    match action:
        case "pause":
            queued = counted(
                "Paused. {n} copy waits until you resume.",
                "Paused. {n} copies wait until you resume.",
                numbers["queued"],
            )
            # While copies are being sent, the number can still grow, because copies that the
            # provider does not accept will wait too.
            is_exact = not numbers["being_sent"]
            until = UNTIL_RESUMED if is_exact else f"{UNTIL_RESUMED},settled"
            return [
                Done(queued, until),
                Done(_may_still_go(numbers["being_sent"]), UNTIL_SETTLED),
            ]
        case "resume" if numbers["after_fault"]:
            text = _(
                "Resumed. One batch goes first; the rest follows when {provider} has answered."
            )
            return [Done(text.format(provider=provider_name()), UNTIL_LEFT)]
        case "resume":
            n = numbers["queued"]
            return [
                Done(
                    counted("Resumed. {n} copy was queued.", "Resumed. {n} copies were queued.", n)
                )
            ]
        case "send-now" if not numbers.get("is_mailed", True):
            return [Done(_page_alone())]
        case "send-now" if "started_for" in numbers:
            text = counted(
                "The issue goes out now, to {n} reader.",
                "The issue goes out now, to {n} readers.",
                numbers["started_for"],
            )
            return [Done(text, UNTIL_LEFT)]
        case "send-now":
            return [Done(_("The hold has ended. The first copies are sent now."), UNTIL_LEFT)]
        case "call-back" if "withdrawn" in numbers:
            text = counted(
                "Called back. {n} copy was withdrawn and none was sent.",
                "Called back. {n} copies were withdrawn and none was sent.",
                withdrawn,
            )
            kept = _("Its text is kept.")
            return [Done(f"{text} {kept}")]
        case "call-back":
            return [Done(_("Called back. It was sent to nobody. Its text is kept."))]
        case "cancel" if "withdrawn" in numbers:
            text = counted(
                "Cancelled. {n} copy was withdrawn.",
                "Cancelled. {n} copies were withdrawn.",
                withdrawn,
            )
            return [
                Done(text),
                Done(_may_still_go(numbers["being_sent"]), UNTIL_SETTLED),
                Done(_are_unconfirmed(numbers["unknown"]), UNTIL_CONFIRMED),
            ]
        case "cancel":
            return [Done(_("Cancelled. It was sent to nobody. Its text is kept."))]
        case "close":
            text, missed = _("Closed."), _missed(numbers["missed"])
            unknown = Done(_stay_unconfirmed(numbers["unknown"]), UNTIL_CONFIRMED)
            return [Done(f"{text} {missed}".strip()), unknown]
        case "send-to-missed":
            return [_queued_again(deliveries)]
        case "ask-again":
            text = counted(
                "Homing is checking {n} copy with {provider}.",
                "Homing is checking {n} copies with {provider}.",
                deliveries,
                provider=provider_name(),
            )
            return [Done(text, f"{UNTIL_CONFIRMED},undecided")]
        case "treat-as-sent":
            text = counted(
                "{n} copy counts as sent now.", "{n} copies count as sent now.", deliveries
            )
            return [Done(text)]
        case _:
            second = _("A reader who did get the first copy gets a second one.")
            others = _("Copies that may already be at {provider} stay unconfirmed.").format(
                provider=provider_name()
            )
            return [_queued_again(deliveries), Done(second), Done(others, UNTIL_CONFIRMED)]


def _page_alone() -> str:
    return _("The page of the issue appears now. No mail is sent.")


def _queued_again(deliveries: int) -> Done:
    return Done(counted("{n} copy was queued again.", "{n} copies were queued again.", deliveries))


def _have_a_copy(number: int) -> str:
    if not number:
        return _("No reader has a copy yet.")
    return counted("{n} reader has their copy.", "{n} readers have their copy.", number)


def _will_wait(counts: EditionCounts) -> str:
    n = counts.queued
    if counts.being_sent:
        return counted("At least {n} copy will wait.", "At least {n} copies will wait.", n)
    return counted("{n} copy will wait.", "{n} copies will wait.", n)


def _will_be_withdrawn(counts: EditionCounts) -> str:
    if counts.being_sent:
        return counted(
            "At least {n} copy will be withdrawn for good.",
            "At least {n} copies will be withdrawn for good.",
            counts.queued,
        )
    return counted(
        "{n} copy will be withdrawn for good.",
        "{n} copies will be withdrawn for good.",
        counts.queued,
    )


def _will_be_sent(number: int) -> str:
    return counted("{n} copy will be sent.", "{n} copies will be sent.", number)


def _may_still_go(number: int) -> str:
    if not number:
        return ""
    return counted(
        "{n} copy is being sent and may still arrive.",
        "{n} copies are being sent and may still arrive.",
        number,
    )


def _missed(number: int) -> str:
    return counted("{n} reader was missed.", "{n} readers were missed.", number) if number else ""


def _are_unconfirmed(number: int) -> str:
    if not number:
        return ""
    return counted("{n} copy is unconfirmed.", "{n} copies are unconfirmed.", number)


def _stay_unconfirmed(number: int) -> str:
    if not number:
        return ""
    return counted("{n} copy stays unconfirmed.", "{n} copies stay unconfirmed.", number)


def _scheduled_time(status: EditionStatus) -> str:
    return status.counts.scheduled.words if status.counts.scheduled else ""


def _calling_off(status: EditionStatus, readers_now: int) -> list[str]:
    if status.counts.goes_to == "nobody":
        sentence = _("The page of the issue will not appear at its time, {time}.")
        return [
            sentence.format(time=_scheduled_time(status)),
            _("The issue becomes a draft again."),
        ]
    return [
        _("Nothing has been sent. The issue will not go out at its time, {time}.").format(
            time=_scheduled_time(status)
        ),
        counted(
            "It would go to {n} reader who is confirmed now.",
            "It would go to {n} readers who are confirmed now.",
            readers_now,
        ),
        _("The issue becomes a draft again."),
    ]


def _cancelling(counts: EditionCounts) -> list[str]:
    if counts.sent:
        have = counted(
            "{n} reader has their copy and keeps it.",
            "{n} readers have their copy and keep it.",
            counts.sent,
        )
    else:
        have = _("No reader has a copy yet.")
    sentences = [have]
    if counts.waiting:
        sentences += [_will_be_withdrawn(counts), _may_still_go(counts.being_sent)]
    if counts.unknown:
        sentences.append(
            counted(
                "{n} copy stays unconfirmed until there is proof.",
                "{n} copies stay unconfirmed until there is proof.",
                counts.unknown,
            )
        )
    if counts.unreconciled:
        sentences.append(
            _(
                "These counts come from the backup. More copies may have gone out; "
                "./homing reconcile finds them, also after you cancel."
            )
        )
    return [*sentences, _("You cannot undo this.")]
