"""The actions on an edition, by name. The statements in delivery/queue/control.py decide again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from django.conf import settings

from delivery.interface import batch_size_for, control, scheduled_editions, together
from delivery.models import Edition
from delivery.rules.edition_state import EditionState
from delivery.rules.scheduled_time import ScheduledTime
from publishing.drafts.restore_draft import restore_draft
from publishing.editions.start_scheduled import count_audience_now, start_now
from publishing.editions.status import EditionStatus, load_status
from publishing.permissions import MAY_ACT
from publishing.scheduling.local_time import scheduled_time_of


class ActionRefusal(StrEnum):
    """Why an action does not apply. `action_sentences.py` has a sentence for each."""

    RESTORED = "restored"
    TRANSACTIONAL = "transactional"
    NOT_STARTED = "not_started"
    NOT_SENDING = "not_sending"
    NOT_PAUSED = "not_paused"
    PAUSED = "paused"
    HOLD_ENDED = "hold_ended"
    TOO_LATE_TO_CALL_BACK = "too_late_to_call_back"
    NOTHING_TO_CALL_BACK = "nothing_to_call_back"
    NOT_SCHEDULED = "not_scheduled"
    DUE = "due"
    NOTHING_TO_CANCEL = "nothing_to_cancel"
    NOTHING_WAITING = "nothing_waiting"
    NOTHING_TO_CLOSE = "nothing_to_close"
    STILL_WORKING = "still_working"
    NOTHING_TO_ACCEPT = "nothing_to_accept"
    NOTHING_MORE_IS_SENT = "nothing_more_is_sent"
    NOBODY_MISSED = "nobody_missed"
    CLOSED = "closed"
    NOTHING_TO_DECIDE = "nothing_to_decide"
    MOVED_ON = "moved_on"
    RESCHEDULED_MEANWHILE = "rescheduled_meanwhile"


class CannotDoThatError(Exception):
    """The edition is not in a state that allows the action, for the reason `refusal`."""

    def __init__(self, refusal: ActionRefusal, edition: Edition, status: EditionStatus) -> None:
        super().__init__(refusal)
        self.refusal, self.edition, self.status = refusal, edition, status


Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What was done: the action, its numbers, and whether the issue is a draft again."""

    action: str
    numbers: Numbers = field(default_factory=dict)
    draft: str = ""


@dataclass(frozen=True, slots=True)
class EditionAction:
    """An action; `tone` is its button's: `go` makes mail leave, `risk` cannot be undone."""

    name: str
    refusal: Callable[[EditionStatus], ActionRefusal | None]
    do: Callable[[Edition], Numbers | None]
    tone: Literal["", "go", "risk"] = ""
    permissions: tuple[str, ...] = MAY_ACT

    def is_open_to(self, has_permission: Callable[[str], bool]) -> bool:
        """Whether a user with these permissions may do it, to any edition."""
        return any(map(has_permission, self.permissions))


def perform(
    name: str, edition: Edition, status: EditionStatus, *, record: Callable[[str], None]
) -> ActionResult:
    """Do an action and record it in one transaction. Raises `CannotDoThatError`."""
    action = ACTIONS[name]
    refusal = action.refusal(status)
    if refusal:
        raise CannotDoThatError(refusal, edition, status)
    with together():
        numbers = action.do(edition)
        if numbers is None:
            raise CannotDoThatError(ActionRefusal.MOVED_ON, edition, status)
        # After these an issue that reached nobody is a draft again.
        draft = restore_draft(edition) if name in ("call-back", "cancel") else ""
        record(name)
    return ActionResult(name, numbers, draft)


def applicable(status: EditionStatus) -> list[EditionAction]:
    """The actions that apply to an edition in this state, in their order on the page."""
    return [action for action in ACTIONS.values() if not action.refusal(status)]


def readers_now(status: EditionStatus) -> int:
    """How many readers a scheduled edition would go to now; of any other, its audience."""
    if not _is_scheduled(status):
        return status.counts.audience
    goes_to = Edition.objects.values_list("goes_to", flat=True).get(pk=status.counts.edition)
    return count_audience_now(status.counts.issue, status.counts.version, goes_to)


_ENDED = frozenset({EditionState.SUCCEEDED, EditionState.CANCELLED, EditionState.CLOSED})
_SENDS_NO_MORE = frozenset({EditionState.CANCELLED, EditionState.CLOSED})


def _is_scheduled(status: EditionStatus) -> bool:
    return status.counts.control == "scheduled"


def _numbers(edition: Edition, **numbers: int) -> Numbers:
    counts = load_status(edition.pk).counts
    return {
        "queued": counts.queued,
        "being_sent": counts.being_sent,
        "missed": counts.missed,
        "unknown": counts.unknown,
        **numbers,
    }


# --- Holding back ---------------------------------------------------------------------------------


def _refuse_pause(status: EditionStatus) -> ActionRefusal | None:
    if status.state in {EditionState.HELD, EditionState.SENDING}:
        return None
    return ActionRefusal.NOT_STARTED if _is_scheduled(status) else ActionRefusal.NOT_SENDING


def _pause(edition: Edition) -> Numbers | None:
    return _numbers(edition) if control.pause(edition.pk) else None


def _refuse_resume(status: EditionStatus) -> ActionRefusal | None:
    if status.counts.unreconciled:
        return ActionRefusal.RESTORED
    return None if status.counts.control in {"paused", "stopped"} else ActionRefusal.NOT_PAUSED


def _resume(edition: Edition) -> Numbers | None:
    after_fault = Edition.objects.filter(pk=edition.pk, control="stopped").exists()
    if not control.resume(edition.pk):
        return None
    return _numbers(edition, after_fault=after_fault)


# --- The hold -------------------------------------------------------------------------------------


def _refuse_send_now(status: EditionStatus) -> ActionRefusal | None:
    if status.counts.is_transactional:
        return ActionRefusal.TRANSACTIONAL
    if status.state in {EditionState.HELD, EditionState.SCHEDULED}:
        return None
    if status.counts.unreconciled:
        return ActionRefusal.RESTORED
    return ActionRefusal.PAUSED if status.state is EditionState.PAUSED else ActionRefusal.HOLD_ENDED


def _send_now(edition: Edition) -> Numbers | None:
    readers = start_now(edition.pk)
    if readers is not None:
        return {"started_for": readers}
    return {} if control.send_now(edition.pk) else None


def _refuse_call_back(status: EditionStatus) -> ActionRefusal | None:
    if status.counts.is_transactional:
        return ActionRefusal.TRANSACTIONAL
    if status.state in _ENDED:
        return ActionRefusal.NOTHING_TO_CALL_BACK
    if status.counts.unreconciled:
        return ActionRefusal.RESTORED
    is_held = status.counts.now < status.counts.held_until and status.counts.waiting > 0
    return None if is_held or _is_scheduled(status) else ActionRefusal.TOO_LATE_TO_CALL_BACK


def _call_back(edition: Edition) -> Numbers | None:
    if scheduled_editions.cancel(edition.pk, called_back=True):
        return {}
    withdrawn = control.call_back(edition.pk)
    return None if withdrawn is None else {"withdrawn": withdrawn}


# --- The time -------------------------------------------------------------------------------------


def refuse_reschedule(status: EditionStatus) -> ActionRefusal | None:
    """Why the time of an edition cannot be changed; None if it can."""
    if status.counts.unreconciled:
        return ActionRefusal.RESTORED
    if not _is_scheduled(status):
        return ActionRefusal.NOT_SCHEDULED
    return ActionRefusal.DUE if status.counts.is_due else None


def reschedule(
    edition: Edition,
    at: ScheduledTime,
    *,
    before: datetime | None = None,
    record: Callable[[ScheduledTime], None],
) -> None:
    """
    Give a scheduled edition another time.

    `before` is the time that an author saw when they chose; None for a program, which saw none.
    `record` is given the old time and writes the activity log, in the same transaction. Asking for
    the time that it already has changes nothing. Raises `CannotDoThatError`.
    """
    status = load_status(edition.pk)
    old = status.counts.scheduled
    if _is_scheduled(status) and old == at:
        return
    refusal = refuse_reschedule(status)
    if refusal or old is None:
        raise CannotDoThatError(refusal or ActionRefusal.NOT_SCHEDULED, edition, status)
    if before not in {None, old.utc}:
        raise CannotDoThatError(ActionRefusal.RESCHEDULED_MEANWHILE, edition, status)
    with together():
        if scheduled_editions.move(edition.pk, at, before=old.utc):
            record(old)
            return
    # Unless another tab sent the same request.
    if scheduled_time_of(Edition.objects.get(pk=edition.pk)) != at:
        raise CannotDoThatError(ActionRefusal.MOVED_ON, edition, status)


# --- Ending ---------------------------------------------------------------------------------------


def _refuse_cancel(status: EditionStatus) -> ActionRefusal | None:
    if status.counts.is_transactional:
        return ActionRefusal.TRANSACTIONAL
    if status.state in _ENDED:
        return ActionRefusal.NOTHING_TO_CANCEL
    if _is_scheduled(status):
        return ActionRefusal.RESTORED if status.counts.unreconciled else None
    return None if status.counts.waiting or status.counts.unknown else ActionRefusal.NOTHING_WAITING


def _cancel(edition: Edition) -> Numbers | None:
    if scheduled_editions.cancel(edition.pk, called_back=False):
        return {}
    withdrawn = control.cancel(edition.pk)
    return None if withdrawn is None else _numbers(edition, withdrawn=withdrawn)


def _refuse_close(status: EditionStatus) -> ActionRefusal | None:
    counts = status.counts
    if counts.is_transactional:
        return ActionRefusal.TRANSACTIONAL
    if status.state in _ENDED:
        return ActionRefusal.NOTHING_TO_CLOSE
    if counts.unreconciled:
        return ActionRefusal.RESTORED
    if counts.queued_batches or counts.leased_batches or counts.paused_batches:
        return ActionRefusal.STILL_WORKING
    if counts.missed or counts.unknown or counts.control == "stopped":
        return None
    return ActionRefusal.NOTHING_TO_ACCEPT


def _close(edition: Edition) -> Numbers | None:
    return _numbers(edition) if control.close(edition.pk) else None


# --- Sending again --------------------------------------------------------------------------------


def _refuse_send_to_missed(status: EditionStatus) -> ActionRefusal | None:
    if status.state in _SENDS_NO_MORE:
        return ActionRefusal.NOTHING_MORE_IS_SENT
    if status.counts.unreconciled:
        return ActionRefusal.RESTORED
    return None if status.counts.missed else ActionRefusal.NOBODY_MISSED


def _send_to_missed(edition: Edition) -> Numbers | None:
    most = batch_size_for(edition, settings.DELIVERY_BATCH_SIZE)
    copies = control.send_to_missed(edition.pk, most=most)
    return None if copies is None else {"copies": copies}


def _refuse_ask_again(status: EditionStatus) -> ActionRefusal | None:
    if status.state is EditionState.CLOSED:
        return ActionRefusal.CLOSED
    return None if status.counts.parked_batches else ActionRefusal.NOTHING_TO_DECIDE


def _ask_again(edition: Edition) -> Numbers | None:
    copies = control.ask_again(edition.pk, silences=len(settings.DELIVERY_LOOKUP_AFTER_S) - 1)
    return None if copies is None else {"copies": copies}


def _refuse_send_doubtful(status: EditionStatus) -> ActionRefusal | None:
    if status.state in _SENDS_NO_MORE:
        return ActionRefusal.NOTHING_MORE_IS_SENT
    if status.counts.unreconciled:
        return ActionRefusal.RESTORED
    return None if status.counts.parked_batches else ActionRefusal.NOTHING_TO_DECIDE


def _send_doubtful(edition: Edition) -> Numbers | None:
    copies = control.resend_unknown(edition.pk)
    return None if copies is None else {"copies": copies}


# In their order on the page: the likeliest first, what cannot be undone last.
ACTIONS: Mapping[str, EditionAction] = {
    action.name: action
    for action in (
        EditionAction("resume", _refuse_resume, _resume, tone="go"),
        EditionAction("call-back", _refuse_call_back, _call_back),
        EditionAction("pause", _refuse_pause, _pause),
        EditionAction("send-now", _refuse_send_now, _send_now, tone="go"),
        EditionAction("send-to-missed", _refuse_send_to_missed, _send_to_missed, tone="go"),
        EditionAction("ask-again", _refuse_ask_again, _ask_again),
        EditionAction("send-doubtful", _refuse_send_doubtful, _send_doubtful, tone="risk"),
        EditionAction("close", _refuse_close, _close, tone="risk"),
        EditionAction("cancel", _refuse_cancel, _cancel, tone="risk"),
    )
}
