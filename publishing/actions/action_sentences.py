"""The texts of the actions: question, button, answer and refusal. Pure."""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import digits
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
    """Why an action does not apply."""

    RESTORED = auto()
    TRANSACTIONAL = auto()
    NOT_STARTED = auto()
    NOT_SENDING = auto()
    NOT_PAUSED = auto()
    PAUSED = auto()
    NEEDS_APPROVAL = auto()
    HOLD_ENDED = auto()
    TOO_LATE_TO_CALL_BACK = auto()
    NOTHING_TO_CALL_BACK = auto()
    NOT_SCHEDULED = auto()
    DUE = auto()
    NOTHING_TO_CANCEL = auto()
    NOTHING_WAITING = auto()
    NOTHING_TO_CLOSE = auto()
    STILL_WORKING = auto()
    NOTHING_TO_ACCEPT = auto()
    NOTHING_MORE_IS_SENT = auto()
    NOBODY_MISSED = auto()
    CLOSED = auto()
    NOTHING_TO_DECIDE = auto()
    MOVED_ON = auto()
    RESCHEDULED_MEANWHILE = auto()


_REFUSALS = {
    ActionRefusal.RESTORED: gettext_lazy(
        "“{title}”: the database was restored from a backup. Run ./homing reconcile first, so that "
        "no copy is sent twice."
    ),
    ActionRefusal.TRANSACTIONAL: gettext_lazy(
        "“{title}”: readers request this mail at any time, so it has no end. You can pause it and "
        "resume it later."
    ),
    ActionRefusal.NOT_STARTED: gettext_lazy(
        "“{title}”: it is scheduled and nothing is being sent, so you cannot pause it. Call it "
        "back if it should not go out."
    ),
    ActionRefusal.PAUSED: gettext_lazy("“{title}”: it is paused. Resume it first."),
    ActionRefusal.NEEDS_APPROVAL: gettext_lazy(
        "“{title}”: the sender, the reply address or the newsletter's name was changed after the "
        "approval. Set the earlier values again, or cancel the issue and have its draft approved "
        "again."
    ),
    ActionRefusal.DUE: gettext_lazy(
        "“{title}”: its time has come and a worker is starting it. You can pause it once it is "
        "being sent."
    ),
    ActionRefusal.NOTHING_WAITING: gettext_lazy(
        "“{title}”: no copies are queued, so you cannot cancel it. Close it instead."
    ),
    ActionRefusal.STILL_WORKING: gettext_lazy(
        "“{title}”: some copies are still queued or being checked. Cancel it, or wait until they "
        "are settled."
    ),
    ActionRefusal.NOBODY_MISSED: gettext_lazy("“{title}”: no reader was missed."),
    ActionRefusal.CLOSED: gettext_lazy("“{title}”: it is closed."),
    ActionRefusal.NOTHING_TO_DECIDE: gettext_lazy(
        "“{title}”: no unconfirmed copy needs your decision."
    ),
    ActionRefusal.MOVED_ON: gettext_lazy(
        "“{title}”: its state changed in the meantime, so nothing was done. Refresh the page and "
        "choose again."
    ),
    ActionRefusal.RESCHEDULED_MEANWHILE: gettext_lazy(
        "Its time was changed in the meantime: it goes out on {time}. Nothing was changed now. "
        "Choose again if you want another time."
    ),
}
# A sentence about the state of the issue is added to each of these.
_REFUSALS_BY_STATE = {
    ActionRefusal.NOT_SENDING: gettext_lazy(
        "“{title}”: you can pause an issue only while it is held or being sent."
    ),
    ActionRefusal.NOT_PAUSED: gettext_lazy("“{title}”: there is nothing to resume."),
    ActionRefusal.HOLD_ENDED: gettext_lazy("“{title}”: its hold has ended."),
    ActionRefusal.TOO_LATE_TO_CALL_BACK: gettext_lazy(
        "“{title}”: its hold has ended. You can still cancel the copies that have not been sent."
    ),
    ActionRefusal.NOTHING_TO_CALL_BACK: gettext_lazy("“{title}”: there is nothing to call back."),
    ActionRefusal.NOT_SCHEDULED: gettext_lazy(
        "“{title}”: you can change the time of a scheduled issue only."
    ),
    ActionRefusal.NOTHING_TO_CANCEL: gettext_lazy("“{title}”: there is nothing left to cancel."),
    ActionRefusal.NOTHING_TO_CLOSE: gettext_lazy("“{title}”: there is nothing to close."),
    ActionRefusal.NOTHING_TO_ACCEPT: gettext_lazy(
        "“{title}”: it has no missed readers and no unconfirmed copies, so there is nothing to "
        "close."
    ),
    ActionRefusal.NOTHING_MORE_IS_SENT: gettext_lazy(
        "“{title}”: no more copies of it will be sent."
    ),
}
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
    """Say why nothing was done, with the title of the issue."""
    title = status.counts.title
    if refusal in _REFUSALS:
        return str(_REFUSALS[refusal]).format(title=title, time=_scheduled_time(status))
    is_called_back = status.counts.is_called_back
    state = _("It was called back.") if is_called_back else _STATES[status.state]
    return f"{str(_REFUSALS_BY_STATE[refusal]).format(title=title)} {state}"


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
                    "One batch goes first, and the rest follows when Postmark has answered. If the "
                    "fault remains, Homing stops again after one call."
                ),
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
                ngettext(
                    "The issue goes out now, to {n} reader who is confirmed at this moment.",
                    "The issue goes out now, to {n} readers who are confirmed at this moment.",
                    readers_now,
                ).format(n=digits(readers_now)),
                _("Its scheduled time was {time}.").format(time=_scheduled_time(status)),
                _("It is not held, so you cannot call it back."),
            ]
        case "send-now":
            return [
                ngettext(
                    "The hold ends now and {n} copy is sent.",
                    "The hold ends now and {n} copies are sent.",
                    counts.waiting,
                ).format(n=digits(counts.waiting)),
                _("You can no longer call the issue back."),
            ]
        case "call-back" if is_scheduled:
            return _calling_off(status, readers_now)
        case "call-back":
            return [
                _("Nothing has been sent."),
                ngettext(
                    "{n} reader will not get it.",
                    "{n} readers will not get it.",
                    counts.audience,
                ).format(n=digits(counts.audience)),
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
                ngettext(
                    "{n} reader did not get their copy, although nothing is wrong with their "
                    "address.",
                    "{n} readers did not get their copy, although nothing is wrong with their "
                    "addresses.",
                    counts.missed,
                ).format(n=digits(counts.missed)),
                _("Homing tries again to send to them. No other reader gets a copy."),
            ]
        case "ask-again":
            return [
                ngettext(
                    "Homing checks {n} copy with Postmark again.",
                    "Homing checks {n} copies with Postmark again.",
                    undecided,
                ).format(n=digits(undecided)),
                _("No copy is sent."),
            ]
        case _:
            return [
                ngettext(
                    "Homing resends up to {n} copy. It skips copies that Postmark is known "
                    "to have.",
                    "Homing resends up to {n} copies. It skips copies that Postmark is known "
                    "to have.",
                    undecided,
                ).format(n=digits(undecided)),
                _("A reader who did get the first copy gets a second one."),
            ]


def button(action: str, status: EditionStatus, readers_now: int) -> str:
    """Label the button of an action with its verb and the number of copies or readers."""
    counts, is_scheduled = status.counts, status.counts.control == "scheduled"
    # The number of waiting copies can change as long as any are being sent.
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
            text, n = ngettext("Pause {n} copy", "Pause {n} copies", counts.queued), counts.queued
        case "pause":
            return _("Pause")
        case "resume" if counts.queued:
            n = counts.queued
            text = ngettext("Resume for {n} reader", "Resume for {n} readers", n)
        case "resume":
            return _("Resume")
        case "send-now":
            text, n = (
                ngettext("Send to {n} reader now", "Send to {n} readers now", readers),
                readers,
            )
        case "call-back" if is_scheduled:
            n = readers
            text = ngettext("Call back for {n} reader", "Call back for {n} readers", n)
        case "call-back":
            n = counts.waiting
            text = ngettext("Call back {n} copy", "Call back {n} copies", n)
        case "cancel" if is_scheduled or is_certain:
            text, n = ngettext("Cancel for {n} reader", "Cancel for {n} readers", readers), readers
        case "cancel":
            return _("Cancel the rest")
        case "close":
            return _("Close with {sent} of {audience} sent").format(
                sent=digits(counts.sent), audience=digits(counts.audience)
            )
        case "send-to-missed":
            text, n = (
                ngettext("Send to {n} reader", "Send to {n} readers", counts.missed),
                counts.missed,
            )
        case "ask-again":
            n = counts.awaiting_decision
            text = ngettext("Check {n} copy again", "Check {n} copies again", n)
        case _:
            n = counts.awaiting_decision
            text = ngettext("Resend {n} copy", "Resend {n} copies", n)
    return text.format(n=digits(n))


class Done(NamedTuple):
    """A sentence about what was done, with the tag that says when it is outdated."""

    sentence: str
    until: str = ""


def done_sentences(action: str, numbers: Mapping[str, Any], draft: str) -> list[Done]:
    """Say what was done, with exact counts.

    `draft` says whether the issue is a draft again.
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
            queued = ngettext(
                "Paused. {n} copy waits until you resume.",
                "Paused. {n} copies wait until you resume.",
                numbers["queued"],
            ).format(n=digits(numbers["queued"]))
            # Copies that are not accepted wait too, so the number is exact only for now.
            is_exact = not numbers["being_sent"]
            until = UNTIL_RESUMED if is_exact else f"{UNTIL_RESUMED},settled"
            return [
                Done(queued, until),
                Done(_may_still_go(numbers["being_sent"]), UNTIL_SETTLED),
            ]
        case "resume" if numbers["after_fault"]:
            text = _("Resumed. One batch goes first; the rest follows when Postmark has answered.")
            return [Done(text, UNTIL_LEFT)]
        case "resume":
            return [
                _counted(
                    ngettext(
                        "Resumed. {n} copy was queued.",
                        "Resumed. {n} copies were queued.",
                        numbers["queued"],
                    ),
                    numbers["queued"],
                )
            ]
        case "send-now" if not numbers.get("is_mailed", True):
            return [Done(_page_alone())]
        case "send-now" if "started_for" in numbers:
            text = ngettext(
                "The issue goes out now, to {n} reader.",
                "The issue goes out now, to {n} readers.",
                numbers["started_for"],
            )
            return [_counted(text, numbers["started_for"], UNTIL_LEFT)]
        case "send-now":
            return [Done(_("The hold has ended. The first copies are sent now."), UNTIL_LEFT)]
        case "call-back" if "withdrawn" in numbers:
            text = ngettext(
                "Called back. {n} copy was withdrawn and none was sent.",
                "Called back. {n} copies were withdrawn and none was sent.",
                withdrawn,
            )
            kept = _("Its text is kept.")
            return [_counted(f"{text} {kept}", withdrawn)]
        case "call-back":
            return [Done(_("Called back. It was sent to nobody. Its text is kept."))]
        case "cancel" if "withdrawn" in numbers:
            text = ngettext(
                "Cancelled. {n} copy was withdrawn.",
                "Cancelled. {n} copies were withdrawn.",
                withdrawn,
            )
            return [
                _counted(text, withdrawn),
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
            text = ngettext(
                "Homing is checking {n} copy with Postmark.",
                "Homing is checking {n} copies with Postmark.",
                deliveries,
            )
            return [_counted(text, deliveries, f"{UNTIL_CONFIRMED},undecided")]
        case _:
            second = _("A reader who did get the first copy gets a second one.")
            others = _("Copies that may already be at Postmark stay unconfirmed.")
            return [_queued_again(deliveries), Done(second), Done(others, UNTIL_CONFIRMED)]


def _page_alone() -> str:
    return _("The page of the issue appears now. No mail is sent.")


def _counted(text: str, number: int, until: str = "") -> Done:
    return Done(text.format(n=digits(number)), until)


def _queued_again(deliveries: int) -> Done:
    text = ngettext("{n} copy was queued again.", "{n} copies were queued again.", deliveries)
    return _counted(text, deliveries)


def _have_a_copy(number: int) -> str:
    if not number:
        return _("No reader has a copy yet.")
    return ngettext("{n} reader has their copy.", "{n} readers have their copy.", number).format(
        n=digits(number)
    )


def _will_wait(counts: EditionCounts) -> str:
    if counts.being_sent:
        text = ngettext(
            "At least {n} copy will wait.", "At least {n} copies will wait.", counts.queued
        )
    else:
        text = ngettext("{n} copy will wait.", "{n} copies will wait.", counts.queued)
    return text.format(n=digits(counts.queued))


def _will_be_withdrawn(counts: EditionCounts) -> str:
    if counts.being_sent:
        text = ngettext(
            "At least {n} copy will be withdrawn for good.",
            "At least {n} copies will be withdrawn for good.",
            counts.queued,
        )
    else:
        text = ngettext(
            "{n} copy will be withdrawn for good.",
            "{n} copies will be withdrawn for good.",
            counts.queued,
        )
    return text.format(n=digits(counts.queued))


def _will_be_sent(number: int) -> str:
    return ngettext("{n} copy will be sent.", "{n} copies will be sent.", number).format(
        n=digits(number)
    )


def _may_still_go(number: int) -> str:
    if not number:
        return ""
    return ngettext(
        "{n} copy is being sent and may still arrive.",
        "{n} copies are being sent and may still arrive.",
        number,
    ).format(n=digits(number))


def _missed(number: int) -> str:
    if not number:
        return ""
    return ngettext("{n} reader was missed.", "{n} readers were missed.", number).format(
        n=digits(number)
    )


def _are_unconfirmed(number: int) -> str:
    if not number:
        return ""
    return ngettext("{n} copy is unconfirmed.", "{n} copies are unconfirmed.", number).format(
        n=digits(number)
    )


def _stay_unconfirmed(number: int) -> str:
    if not number:
        return ""
    return ngettext("{n} copy stays unconfirmed.", "{n} copies stay unconfirmed.", number).format(
        n=digits(number)
    )


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
        ngettext(
            "It would go to {n} reader who is confirmed now.",
            "It would go to {n} readers who are confirmed now.",
            readers_now,
        ).format(n=digits(readers_now)),
        _("The issue becomes a draft again."),
    ]


def _cancelling(counts: EditionCounts) -> list[str]:
    if counts.sent:
        have = ngettext(
            "{n} reader has their copy and keeps it.",
            "{n} readers have their copy and keep it.",
            counts.sent,
        ).format(n=digits(counts.sent))
    else:
        have = _("No reader has a copy yet.")
    sentences = [have]
    if counts.waiting:
        sentences += [_will_be_withdrawn(counts), _may_still_go(counts.being_sent)]
    if counts.unknown:
        sentences.append(
            ngettext(
                "{n} copy stays unconfirmed until there is proof.",
                "{n} copies stay unconfirmed until there is proof.",
                counts.unknown,
            ).format(n=digits(counts.unknown))
        )
    if counts.unreconciled:
        sentences.append(
            _(
                "These counts come from the backup. More copies may have gone out; "
                "./homing reconcile finds them, also after you cancel."
            )
        )
    return [*sentences, _("You cannot undo this.")]
