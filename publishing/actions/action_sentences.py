"""The words of the actions: question, button, answer and refusal. Pure."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from delivery.humanise import counted_copies, counted_readers
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.editions.status import EditionStatus

_STATES = {
    EditionState.SCHEDULED: "it waits for its time",
    EditionState.SENDING: "it is being sent",
    EditionState.NEEDS_ATTENTION: "it needs attention",
    EditionState.SUCCEEDED: "it has gone out",
}


class ActionRefusal(Enum):
    """Why an action does not apply, as a sentence about the issue `title` in this `state`."""

    RESTORED = (
        "{title}: the database was restored from a backup; run ./homing reconcile first, so that "
        "nothing is sent again."
    )
    TRANSACTIONAL = "{title}: mail that people ask for never ends; pause it, and resume it later."
    NOT_STARTED = (
        "{title}: it waits for its time and nothing is sent before, so there is nothing to pause; "
        "call it back if it should not go out."
    )
    NOT_SENDING = "{title}: only what is held or being sent can be paused; {state}."
    NOT_PAUSED = "{title}: there is nothing to resume; {state}."
    PAUSED = "{title}: it is paused; resume it first."
    HOLD_ENDED = "{title}: its hold is over; {state}."
    TOO_LATE_TO_CALL_BACK = (
        "{title}: its hold is over; {state}. What has not left can be cancelled."
    )
    NOTHING_TO_CALL_BACK = "{title}: there is nothing to call back; {state}."
    NOT_SCHEDULED = "{title}: only the time of a scheduled issue can be changed; {state}."
    DUE = "{title}: its time has come, and a worker starts it. Pause it once it is being sent."
    NOTHING_TO_CANCEL = "{title}: there is nothing left to cancel; {state}."
    NOTHING_WAITING = (
        "{title}: nothing waits any more, so there is nothing to cancel; close it instead."
    )
    NOTHING_TO_CLOSE = "{title}: there is nothing to close; {state}."
    STILL_WORKING = (
        "{title}: copies still wait or are asked about; cancel it, or let it come to rest first."
    )
    NOTHING_TO_ACCEPT = "{title}: there is nothing to accept; {state}."
    NOTHING_MORE_IS_SENT = "{title}: nothing more is sent of it; {state}."
    NOBODY_MISSED = "{title}: nobody was missed."
    CLOSED = "{title}: it is closed."
    NOTHING_TO_DECIDE = "{title}: no doubt is left to a person."
    MOVED_ON = "{title} moved on in the meantime and nothing was changed; look again."
    RESCHEDULED_MEANWHILE = (
        "Its time was changed meanwhile: it goes out {time}. Nothing was changed now; choose again "
        "if you want another time."
    )


def refusal_sentence(refusal: ActionRefusal, status: EditionStatus) -> str:
    """Why nothing was done, with the title of the issue."""
    state = _STATES.get(status.state, f"it is {status.state_words}")
    return refusal.value.format(
        title=f"“{status.counts.title}”",
        state="it was called back" if status.counts.is_called_back else state,
        time=_at_its_time(status),
    )


def question(action: str, status: EditionStatus, readers_now: int) -> str:
    """What will happen, with the numbers of the moment."""
    counts, is_scheduled = status.counts, status.counts.control == "scheduled"
    doubtful = counted_copies(counts.awaiting_decision)
    match action:
        case "pause":
            waiting = _at_least(counts, "will wait")
            return f"{_have_it(counts.sent)}. {waiting} You can resume it later."
        case "resume" if not counts.queued:
            return "Nothing waits to be sent; Homing goes on with what is in doubt."
        case "resume" if counts.control == "stopped":
            return (
                f"{counted_copies(counts.queued)} will go out. One batch goes first, and the rest "
                "follows once Postmark has judged it, so that a fault that is still there costs "
                "one call."
            )
        case "resume":
            queued = counted_copies(counts.queued)
            return f"{queued} will go out from now on. Nobody gets a second one."
        case "send-now" if is_scheduled:
            return (
                f"It goes out at once, to {counted_readers(readers_now)} confirmed now, and not "
                f"only {_at_its_time(status)}. There is no hold: it cannot be called back any more."
            )
        case "send-now":
            return (
                f"The hold ends and the first of {counted_copies(counts.waiting)} leaves at once. "
                "It cannot be called back any more."
            )
        case "call-back" if is_scheduled:
            return _calling_off(status, readers_now)
        case "call-back":
            return (
                f"Nothing has left. None of {counted_readers(counts.audience)} gets it, and the "
                "issue becomes a draft again."
            )
        case "cancel" if is_scheduled:
            return f"{_calling_off(status, readers_now)} This cannot be undone."
        case "cancel":
            return _what_cancelling_means(counts)
        case "close":
            accepted = _accepted("You accept what is left", counts.missed, counts.unknown)
            return f"{_have_it(counts.sent)}. {accepted}Nothing more is sent of this version."
        case "send-to-missed":
            return (
                f"{counted_readers(counts.missed)} did not get their copy although nothing is "
                "wrong with their address. They are tried again, and nobody else is."
            )
        case "ask-again":
            return f"This asks Postmark once more about {doubtful} in doubt. It sends nothing."
        case _:
            return (
                f"Up to {doubtful} in doubt will be sent again: those without proof that Postmark "
                "accepted the first one. Readers who did get it get a second one."
            )


def button(action: str, status: EditionStatus, readers_now: int) -> str:
    """The words of its button, which repeat verb and number."""
    counts, is_scheduled = status.counts, status.counts.control == "scheduled"
    # The number of waiting copies can change as long as any are being sent.
    is_certain = counts.waiting > 0 and not counts.being_sent
    readers = counted_readers(readers_now if is_scheduled else counts.waiting)
    match action:
        case "pause":
            return f"Pause {counted_copies(counts.queued)}" if is_certain else "Pause"
        case "resume":
            return f"Resume for {counted_readers(counts.queued)}" if counts.queued else "Resume"
        case "send-now":
            return f"Send to {readers} now"
        case "call-back":
            whom = f"from {readers}" if is_scheduled else counted_copies(counts.waiting)
            return f"Call back {whom}"
        case "cancel":
            return f"Cancel for {readers}" if is_scheduled or is_certain else "Cancel the rest"
        case "close":
            return f"Close with {counts.sent:,} of {counts.audience:,} sent"
        case "send-to-missed":
            return f"Send to {counted_readers(counts.missed)}"
        case "ask-again":
            return f"Ask about {counted_copies(counts.awaiting_decision)}"
        case _:
            return f"Send {counted_copies(counts.awaiting_decision)} again"


def done_sentence(action: str, numbers: Mapping[str, Any], draft: str) -> str:
    """What was done, with its exact numbers; `draft` says whether the issue is a draft again."""
    if draft:
        return f"{'Called back' if action == 'call-back' else 'Cancelled'}. {draft}"
    copies, is_one = counted_copies(numbers.get("copies", 0)), numbers.get("copies") == 1
    withdrawn = counted_copies(numbers.get("withdrawn", 0))
    match action:
        case "pause":
            wait = "waits" if numbers["queued"] == 1 else "wait"
            queued = f"{counted_copies(numbers['queued'])} {wait} until you resume"
            return f"Paused. {queued}{_may_still_go(numbers['being_sent'])}"
        case "resume" if numbers["after_fault"]:
            return "Resumed. One batch goes first; the rest follows once Postmark has judged it."
        case "resume":
            return f"Resumed. {counted_copies(numbers['queued'])} queued."
        case "send-now" if "started_for" in numbers:
            return f"It goes out now, to {counted_readers(numbers['started_for'])}."
        case "send-now":
            return "The hold has ended; the first copies leave now."
        case "call-back" if "withdrawn" in numbers:
            return f"Called back. Nobody got it; {withdrawn} withdrawn. Its text stays."
        case "call-back":
            return "Called back. It reached nobody; its text stays."
        case "cancel" if "withdrawn" in numbers:
            unknown = numbers["unknown"]
            doubt = f" {counted_copies(unknown)} in doubt." if unknown else ""
            still = _may_still_go(numbers["being_sent"])
            return f"Cancelled. {withdrawn} withdrawn{still}{doubt}"
        case "cancel":
            return "Cancelled. It reached nobody; its text stays."
        case "close":
            return f"Closed. {_accepted('Accepted', numbers['missed'], numbers['unknown'])}".strip()
        case "send-to-missed":
            return f"{copies} {'waits' if is_one else 'wait'} to be sent again."
        case "ask-again":
            return f"Postmark is being asked about {copies}."
        case _:
            return (
                f"{copies} {'goes' if is_one else 'go'} again. Whoever did get the first gets a "
                "second one. What bears a mark of Postmark stays in doubt."
            )


def _have_it(number: int) -> str:
    if not number:
        return "Nobody has a copy yet"
    return f"{counted_readers(number)} {'has' if number == 1 else 'have'} their copy"


def _at_least(counts: EditionCounts, done: str) -> str:
    """What happens to how many copies for certain, and how many may still go."""
    if not counts.being_sent:
        return f"{counted_copies(counts.queued)} {done}."
    return (
        f"At least {counts.queued:,} {done}; up to {counts.being_sent:,} are being sent now "
        "and may still go."
    )


def _may_still_go(being_sent: int) -> str:
    are = "is" if being_sent == 1 else "are"
    return (
        f"; {counted_copies(being_sent)} {are} being sent and may still go." if being_sent else "."
    )


def _at_its_time(status: EditionStatus) -> str:
    return status.counts.scheduled.words if status.counts.scheduled else "at its time"


def _calling_off(status: EditionStatus, readers_now: int) -> str:
    readers = counted_readers(readers_now)
    return (
        f"Nothing has left. It does not go out {_at_its_time(status)}, and {readers} confirmed now "
        "would have got it. The issue becomes a draft again."
    )


def _what_cancelling_means(counts: EditionCounts) -> str:
    parts = [f"{_have_it(counts.sent)}{' and keep it' if counts.sent else ''}."]
    if counts.waiting:
        parts.append(_at_least(counts, "will be withdrawn for good"))
    if counts.unknown:
        stay = "stays" if counts.unknown == 1 else "stay"
        parts.append(f"{counted_copies(counts.unknown)} in doubt {stay} so until there is proof.")
    if counts.unreconciled:
        parts.append(
            "These numbers are those of the backup: more copies may have gone out, which "
            "./homing reconcile finds also after this."
        )
    return f"{' '.join(parts)} This cannot be undone."


def _accepted(beginning: str, missed: int, unknown: int) -> str:
    left = []
    if missed:
        left.append(f"{counted_readers(missed)} missed")
    if unknown:
        left.append(f"{counted_copies(unknown)} in doubt")
    return f"{beginning}: {' and '.join(left)}. " if left else ""
