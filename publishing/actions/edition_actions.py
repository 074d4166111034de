"""
What a person may do to an edition, by the name it has on the page and the command line.

Whether an action applies and what is asked before it are read off the edition's status, so that
page and command line say the same. Whether it happens is decided again, exactly, by the statement
in `delivery/queue/control.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.conf import settings

from delivery.humanise import counted_copies, counted_readers
from delivery.interface import batch_size_for, control, scheduled_editions, together
from delivery.models import Edition
from delivery.rules.edition_counts import CALLED_BACK, EditionCounts
from delivery.rules.edition_state import EditionState
from delivery.rules.scheduled_time import Moment
from publishing.actions.start_scheduled import confirmed_now, start_now
from publishing.drafts.restore_draft import restore_draft
from publishing.editions.status import EditionStatus, load_status
from publishing.flash_messages import COPIES_LEAVE
from publishing.permissions import MAY_ACT
from publishing.scheduling.local_time import scheduled_moment

# After these an issue that reached nobody is a draft again.
TAKES_BACK = ("call-back", "cancel")


class CannotDoThatError(Exception):
    """The edition is not in a state that allows the action; the sentence says which it is in."""


@dataclass(frozen=True, slots=True)
class Action:
    """
    One thing that may be done to an edition.

    `why_not` says in one sentence why it does not apply, or nothing if it does. `question` states
    what will happen, with the numbers of the moment; `words` are those of its button, which repeat
    verb and number. `do` does it and says in one sentence what was done, or returns None if the
    edition had moved on meanwhile. `tone` is its button's: `go` makes mail leave, `risk` cannot be
    undone. `recorded` is the verb under which the audit trail keeps it. `takes` are the permissions
    of which any one is enough to do it.
    """

    name: str
    label: str
    recorded: str
    why_not: Callable[[EditionStatus], str]
    question: Callable[[EditionStatus], str]
    words: Callable[[EditionStatus], str]
    do: Callable[[Edition], str | None]
    tone: Literal["", "go", "risk"] = ""
    takes: tuple[str, ...] = MAY_ACT

    def is_open_to(self, has_permission: Callable[[str], bool]) -> bool:
        """Whether whoever has these permissions may do it, to whatever edition."""
        return any(map(has_permission, self.takes))


def perform(
    name: str, edition: Edition, status: EditionStatus, *, record: Callable[[str], None]
) -> str:
    """
    Do the action called `name`; the sentence that says what was done.

    `record` is given the verb for the audit trail and writes it, in the same transaction: what was
    done stands there, and what stands there was done. Raises `CannotDoThatError` with one sentence
    if the edition is not in a state for it.
    """
    why_not = cannot(name, edition, status)
    if why_not:
        raise CannotDoThatError(why_not)
    action = ACTIONS[name]
    with together():
        done = action.do(edition)
        if done is None:
            raise CannotDoThatError(
                f"“{edition.title}” moved on in the meantime and nothing was changed; look again."
            )
        drafted = restore_draft(edition) if name in TAKES_BACK else ""
        record(action.recorded)
    return f"{action.recorded.capitalize()}. {drafted}" if drafted else done


def cannot(name: str, edition: Edition, status: EditionStatus) -> str:
    """Why the action called `name` does not apply, as a sentence; nothing if it does."""
    why_not = ACTIONS[name].why_not(status)
    return f"“{edition.title}”: {why_not}" if why_not else ""


def applicable(status: EditionStatus) -> list[Action]:
    """The actions that apply to an edition in this state, in their order on the page."""
    return [action for action in ACTIONS.values() if not action.why_not(status)]


# --- Words ----------------------------------------------------------------------------------------


def _have_it(number: int) -> str:
    if not number:
        return "Nobody has a copy yet"
    return f"{counted_readers(number)} {'has' if number == 1 else 'have'} their copy"


_STANDS = {
    EditionState.SCHEDULED: "it waits for its time",
    EditionState.HELD: "it is held",
    EditionState.SENDING: "it is being sent",
    EditionState.PAUSED: "it is paused",
    EditionState.NEEDS_ATTENTION: "it needs attention",
    EditionState.SUCCEEDED: "it has gone out",
    EditionState.CANCELLED: "it is cancelled",
    EditionState.CLOSED: "it is closed",
}


def _is(status: EditionStatus) -> str:
    return "it was called back" if status.books.is_called_back else _STANDS[status.state]


def _at_least(books: EditionCounts, done: str) -> str:
    """Say what happens to how many copies for certain, and how many may still go."""
    if not books.being_sent:
        return f"{counted_copies(books.queued)} {done}."
    return (
        f"At least {books.queued:,} {done}; up to {books.being_sent:,} are being sent now and may "
        "still go."
    )


def _may_still_go(books: EditionCounts) -> str:
    """How many copies an action came too late for, as the end of its answer."""
    are = "is" if books.being_sent == 1 else "are"
    sent = f"{counted_copies(books.being_sent)} {are} being sent and may still go"
    return f"; {sent}." if books.being_sent else "."


def _count_is_certain(books: EditionCounts) -> bool:
    """Whether the number of waiting copies cannot change until the author decides."""
    return books.waiting > 0 and not books.being_sent


_ENDED = frozenset({EditionState.SUCCEEDED, EditionState.CANCELLED, EditionState.CLOSED})


def _is_scheduled(status: EditionStatus) -> bool:
    return status.books.control == "scheduled"


def _readers_now(status: EditionStatus) -> str:
    """How many it would go to now: nobody is in the audience of what waits for its time."""
    goes_to = Edition.objects.values_list("goes_to", flat=True).get(pk=status.books.edition)
    return counted_readers(confirmed_now(status.books.issue, status.books.version, goes_to))


def _at_its_time(status: EditionStatus) -> str:
    return status.books.scheduled.words if status.books.scheduled else "at its time"


def _is_held(status: EditionStatus) -> bool:
    return status.books.now < status.books.held_until and status.books.waiting > 0


RESTORED = (
    "the database was restored from a backup; run ./homing reconcile first, so that nothing is "
    "sent again."
)


ON_REQUEST = "mail that people ask for never ends; pause it, and resume it later."


# --- Holding back ---------------------------------------------------------------------------------


def _cannot_pause(status: EditionStatus) -> str:
    if status.state in {EditionState.HELD, EditionState.SENDING}:
        return ""
    if _is_scheduled(status):
        return (
            "it waits for its time and nothing is sent before, so there is nothing to pause; call "
            "it back if it should not go out."
        )
    return f"only what is held or being sent can be paused; {_is(status)}."


def _ask_pause(status: EditionStatus) -> str:
    books = status.books
    return f"{_have_it(books.sent)}. {_at_least(books, 'will wait')} You can resume it later."


def _words_of_pause(status: EditionStatus) -> str:
    books = status.books
    return f"Pause {counted_copies(books.queued)}" if _count_is_certain(books) else "Pause"


def _pause(edition: Edition) -> str | None:
    if not control.pause(edition.pk):
        return None
    books = load_status(edition.pk).books
    wait = "waits" if books.queued == 1 else "wait"
    return f"Paused. {counted_copies(books.queued)} {wait} until you resume{_may_still_go(books)}"


def _cannot_resume(status: EditionStatus) -> str:
    if status.books.unreconciled:
        return RESTORED
    if status.books.control in {"paused", "stopped"}:
        return ""
    return f"there is nothing to resume; {_is(status)}."


def _ask_resume(status: EditionStatus) -> str:
    waiting = counted_copies(status.books.queued)
    if not status.books.queued:
        return "Nothing waits to be sent; Homing goes on with what is in doubt."
    if status.books.control == "stopped":
        return (
            f"{waiting} will go out. One batch goes first, and the rest follows once Postmark has "
            "judged it, so that a fault that is still there costs one call."
        )
    return f"{waiting} will go out from now on. Nobody gets a second one."


def _words_of_resume(status: EditionStatus) -> str:
    queued = status.books.queued
    return f"Resume for {counted_readers(queued)}" if queued else "Resume"


def _resume(edition: Edition) -> str | None:
    after_fault = Edition.objects.filter(pk=edition.pk, control="stopped").exists()
    if not control.resume(edition.pk):
        return None
    if after_fault:
        return "Resumed. One batch goes first; the rest follows once Postmark has judged it."
    return f"Resumed. {counted_copies(load_status(edition.pk).books.queued)} queued."


# --- The hold -------------------------------------------------------------------------------------


def _cannot_send_now(status: EditionStatus) -> str:
    if status.books.is_transactional:
        return ON_REQUEST
    if status.state in {EditionState.HELD, EditionState.SCHEDULED}:
        return ""
    if status.books.unreconciled:
        return RESTORED
    if status.state is EditionState.PAUSED:
        return "it is paused; resume it first."
    return f"its hold is over; {_is(status)}."


def _ask_send_now(status: EditionStatus) -> str:
    if _is_scheduled(status):
        return (
            f"It goes out at once, to {_readers_now(status)} confirmed now, and not only "
            f"{_at_its_time(status)}. There is no hold: it cannot be called back any more."
        )
    return (
        f"The hold ends and the first of {counted_copies(status.books.waiting)} leaves at once. "
        "It cannot be called back any more."
    )


def _words_of_send_now(status: EditionStatus) -> str:
    if _is_scheduled(status):
        return f"Send to {_readers_now(status)} now"
    return f"Send to {counted_readers(status.books.waiting)} now"


def _send_now(edition: Edition) -> str | None:
    readers = start_now(edition.pk)
    if readers is not None:
        return f"It goes out now, to {counted_readers(readers)}."
    return COPIES_LEAVE if control.send_now(edition.pk) else None


def _cannot_call_back(status: EditionStatus) -> str:
    if status.books.is_transactional:
        return ON_REQUEST
    if status.state in _ENDED:
        return f"there is nothing to call back; {_is(status)}."
    if status.books.unreconciled:
        return RESTORED
    if _is_held(status) or _is_scheduled(status):
        return ""
    return f"its hold is over; {_is(status)}. What has not left can be cancelled."


def _ask_call_back(status: EditionStatus) -> str:
    if _is_scheduled(status):
        return _what_calling_off_means(status)
    return (
        f"Nothing has left. None of {counted_readers(status.books.audience)} gets it, and the "
        "issue becomes a draft again."
    )


def _what_calling_off_means(status: EditionStatus) -> str:
    return (
        f"Nothing has left. It does not go out {_at_its_time(status)}, and {_readers_now(status)} "
        "confirmed now would have got it. The issue becomes a draft again."
    )


def _words_of_call_back(status: EditionStatus) -> str:
    if _is_scheduled(status):
        return f"Call back from {_readers_now(status)}"
    return f"Call back {counted_copies(status.books.waiting)}"


def _call_back(edition: Edition) -> str | None:
    if scheduled_editions.call_off(edition.pk, f"{CALLED_BACK} before its time."):
        return "Called back. It reached nobody; its text stays."
    withdrawn = control.call_back(edition.pk)
    if withdrawn is None:
        return None
    return f"Called back. Nobody got it; {counted_copies(withdrawn)} withdrawn. Its text stays."


# --- The time ---


def cannot_reschedule(status: EditionStatus) -> str:
    """Why the time of an edition cannot be changed, as a sentence; nothing if it can."""
    if status.books.unreconciled:
        return RESTORED
    if not _is_scheduled(status):
        return f"only the time of a scheduled issue can be changed; {_is(status)}."
    if status.books.is_due:
        return "its time has come, and a worker starts it. Pause it once it is being sent."
    return ""


def reschedule(
    edition: Edition,
    at: Moment,
    *,
    before: datetime | None = None,
    record: Callable[[Moment], None],
) -> str:
    """
    Give a scheduled edition another time; return when it goes out, as a sentence.

    `before` is the time that somebody saw when they chose; None for a program, which saw none.
    `record` is given the old time and writes the audit trail, in the same transaction. Asking again
    for the time that it already has changes nothing. Raises `CannotDoThatError` with one sentence.
    """
    done = f"It goes out {at.words}."
    status = load_status(edition.pk)
    old = status.books.scheduled
    if _is_scheduled(status) and old == at:
        return done
    why_not = cannot_reschedule(status)
    if why_not or old is None:
        raise CannotDoThatError(f"“{edition.title}”: {why_not}")
    if before not in {None, old.utc}:
        raise CannotDoThatError(
            f"Its time was changed meanwhile: it goes out {old.words}. Nothing was changed now; "
            "choose again if you want another time."
        )
    with together():
        if scheduled_editions.move(edition.pk, at, before=old.utc):
            record(old)
            return done
    if scheduled_moment(Edition.objects.get(pk=edition.pk)) == at:
        return done  # the same request, from another tab
    raise CannotDoThatError(
        f"“{edition.title}” moved on in the meantime and nothing was changed; look again."
    )


# --- Ending ---------------------------------------------------------------------------------------


def _cannot_cancel(status: EditionStatus) -> str:
    if status.books.is_transactional:
        return ON_REQUEST
    if status.state in _ENDED:
        return f"there is nothing left to cancel; {_is(status)}."
    if _is_scheduled(status):
        return RESTORED if status.books.unreconciled else ""
    if status.books.waiting or status.books.unknown:
        return ""
    return "nothing waits any more, so there is nothing to cancel; close it instead."


def _ask_cancel(status: EditionStatus) -> str:
    books = status.books
    if _is_scheduled(status):
        return f"{_what_calling_off_means(status)} This cannot be undone."
    parts = [f"{_have_it(books.sent)}{' and keep it' if books.sent else ''}."]
    if books.waiting:
        parts.append(_at_least(books, "will be withdrawn for good"))
    if books.unknown:
        stay = "stays" if books.unknown == 1 else "stay"
        parts.append(f"{counted_copies(books.unknown)} in doubt {stay} so until there is proof.")
    if books.unreconciled:
        parts.append(
            "These numbers are those of the backup: more copies may have gone out, which "
            "./homing reconcile finds also after this."
        )
    return f"{' '.join(parts)} This cannot be undone."


def _words_of_cancel(status: EditionStatus) -> str:
    if _is_scheduled(status):
        return f"Cancel for {_readers_now(status)}"
    books = status.books
    if _count_is_certain(books):
        return f"Cancel for {counted_readers(books.queued)}"
    return "Cancel the rest"


def _cancel(edition: Edition) -> str | None:
    if scheduled_editions.call_off(edition.pk, ""):
        return "Cancelled. It reached nobody; its text stays."
    withdrawn = control.cancel(edition.pk)
    if withdrawn is None:
        return None
    books = load_status(edition.pk).books
    doubt = f" {counted_copies(books.unknown)} in doubt." if books.unknown else ""
    return f"Cancelled. {counted_copies(withdrawn)} withdrawn{_may_still_go(books)}{doubt}"


def _cannot_close(status: EditionStatus) -> str:
    books = status.books
    if status.books.is_transactional:
        return ON_REQUEST
    if status.state in _ENDED:
        return f"there is nothing to close; {_is(status)}."
    if books.unreconciled:
        return RESTORED
    if books.in_line or books.in_work or books.paused:
        return "copies still wait or are asked about; cancel it, or let it come to rest first."
    if books.missed or books.unknown or books.control == "stopped":
        return ""
    return f"there is nothing to accept; {_is(status)}."


def _ask_close(status: EditionStatus) -> str:
    accepts = _accepting(status.books, "You accept what is left")
    return f"{_have_it(status.books.sent)}. {accepts}Nothing more is sent of this version."


def _accepting(books: EditionCounts, said: str) -> str:
    left = []
    if books.missed:
        left.append(f"{counted_readers(books.missed)} missed")
    if books.unknown:
        left.append(f"{counted_copies(books.unknown)} in doubt")
    return f"{said}: {' and '.join(left)}. " if left else ""


def _words_of_close(status: EditionStatus) -> str:
    books = status.books
    return f"Close with {books.sent:,} of {books.audience:,} sent"


def _close(edition: Edition) -> str | None:
    if not control.close(edition.pk):
        return None
    return f"Closed. {_accepting(load_status(edition.pk).books, 'Accepted')}".strip()


# --- Sending again --------------------------------------------------------------------------------


def _cannot_send_to_missed(status: EditionStatus) -> str:
    if status.state in {EditionState.CANCELLED, EditionState.CLOSED}:
        return f"nothing more is sent of it; {_is(status)}."
    if status.books.unreconciled:
        return RESTORED
    return "" if status.books.missed else "nobody was missed."


def _ask_send_to_missed(status: EditionStatus) -> str:
    return (
        f"{counted_readers(status.books.missed)} did not get their copy although nothing is wrong "
        "with their address. They are tried again, and nobody else is."
    )


def _words_of_send_to_missed(status: EditionStatus) -> str:
    return f"Send to {counted_readers(status.books.missed)}"


def _send_to_missed(edition: Edition) -> str | None:
    most = batch_size_for(edition, settings.DELIVERY_BATCH_SIZE)
    copies = control.send_to_missed(edition.pk, most=most)
    if copies is None:
        return None
    return f"{counted_copies(copies)} {'waits' if copies == 1 else 'wait'} to be sent again."


def _cannot_ask_again(status: EditionStatus) -> str:
    if status.state is EditionState.CLOSED:
        return "it is closed."
    return "" if status.books.parked else "no doubt is left to a person."


def _ask_ask_again(status: EditionStatus) -> str:
    return (
        f"This asks Postmark once more about {counted_copies(status.books.awaiting_decision)} in "
        "doubt. It sends nothing."
    )


def _words_of_ask_again(status: EditionStatus) -> str:
    return f"Ask about {counted_copies(status.books.awaiting_decision)}"


def _ask_again(edition: Edition) -> str | None:
    copies = control.ask_again(edition.pk, silences=len(settings.DELIVERY_LOOKUP_AFTER_S) - 1)
    return None if copies is None else f"Postmark is being asked about {counted_copies(copies)}."


def _cannot_send_doubtful(status: EditionStatus) -> str:
    if status.state in {EditionState.CANCELLED, EditionState.CLOSED}:
        return f"nothing more is sent of it; {_is(status)}."
    if status.books.unreconciled:
        return RESTORED
    return "" if status.books.parked else "no doubt is left to a person."


def _ask_send_doubtful(status: EditionStatus) -> str:
    return (
        f"Up to {counted_copies(status.books.awaiting_decision)} in doubt will be sent again: "
        "those without proof that Postmark accepted the first one. Readers who did get it get a "
        "second one."
    )


def _words_of_send_doubtful(status: EditionStatus) -> str:
    return f"Send {counted_copies(status.books.awaiting_decision)} again"


def _send_doubtful(edition: Edition) -> str | None:
    copies = control.resend_unknown(edition.pk)
    if copies is None:
        return None
    go = "goes" if copies == 1 else "go"
    return (
        f"{counted_copies(copies)} {go} again. Whoever did get the first gets a second one. "
        "What bears a mark of Postmark stays in doubt."
    )


# In their order on the page: what is most likely wanted first, what cannot be undone last.
ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action(
            "resume",
            "Resume",
            "resumed",
            _cannot_resume,
            _ask_resume,
            _words_of_resume,
            _resume,
            tone="go",
        ),
        Action(
            "call-back",
            "Call back",
            "called back",
            _cannot_call_back,
            _ask_call_back,
            _words_of_call_back,
            _call_back,
        ),
        Action(
            "pause",
            "Pause",
            "paused",
            _cannot_pause,
            _ask_pause,
            _words_of_pause,
            _pause,
        ),
        Action(
            "send-now",
            "Send now",
            "sent at once",
            _cannot_send_now,
            _ask_send_now,
            _words_of_send_now,
            _send_now,
            tone="go",
        ),
        Action(
            "send-to-missed",
            "Send to the missed",
            "sent to the missed",
            _cannot_send_to_missed,
            _ask_send_to_missed,
            _words_of_send_to_missed,
            _send_to_missed,
            tone="go",
        ),
        Action(
            "ask-again",
            "Ask Postmark again",
            "asked again",
            _cannot_ask_again,
            _ask_ask_again,
            _words_of_ask_again,
            _ask_again,
        ),
        Action(
            "send-doubtful",
            "Send what is in doubt",
            "sent what was in doubt",
            _cannot_send_doubtful,
            _ask_send_doubtful,
            _words_of_send_doubtful,
            _send_doubtful,
            tone="risk",
        ),
        Action(
            "close",
            "Close",
            "closed",
            _cannot_close,
            _ask_close,
            _words_of_close,
            _close,
            tone="risk",
        ),
        Action(
            "cancel",
            "Cancel",
            "cancelled",
            _cannot_cancel,
            _ask_cancel,
            _words_of_cancel,
            _cancel,
            tone="risk",
        ),
    )
}
