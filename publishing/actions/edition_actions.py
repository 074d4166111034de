"""Define and run the actions that authors can choose for an edition.

`delivery/queue/edition_control.py` checks again whether each action is allowed.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from delivery.interface import (
    batch_size,
    batch_size_for,
    capabilities,
    edition_control,
    provider_name,
    scheduled_editions,
    together,
    treat_as_sent,
)
from delivery.models import Edition
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from delivery.rules.scheduled_time import ScheduledTime
from publishing.actions.action_sentences import (
    ActionRefusal,
    Done,
    done_sentences,
    refusal_sentence,
)
from publishing.drafts.save_draft import restore_draft
from publishing.editions.approved_sender import is_outdated
from publishing.editions.audience import TagChoice, select_audience
from publishing.editions.edition_status import EditionStatus, load_status
from publishing.editions.start_scheduled import start_now
from publishing.scheduling.local_time import scheduled_time_of


class CannotDoThatError(Exception):
    """The edition's state does not allow the action; the error's sentence says why."""

    def __init__(self, refusal: ActionRefusal, status: EditionStatus) -> None:
        super().__init__(refusal_sentence(refusal, status))


class EditionAction(NamedTuple):
    """An action that an author can choose for an edition.

    The `tone` of the action's button is `go` if the action sends mail, and `risk` if the action
    cannot be undone.
    """

    name: str
    text: Promise
    tone: Literal["", "go", "risk"] = ""

    @property
    def label(self) -> str:
        """The action as a link or a button names it."""
        return str(self.text).format(provider=provider_name())


# The page shows the most common actions first, and the actions that cannot be undone last.
ACTIONS: Mapping[str, EditionAction] = {
    action.name: action
    for action in (
        EditionAction("resume", _("Resume"), "go"),
        EditionAction("call-back", _("Call back")),
        EditionAction("pause", _("Pause")),
        EditionAction("send-now", _("Send now"), "go"),
        EditionAction("send-to-missed", _("Send to missed readers"), "go"),
        EditionAction("ask-again", _("Check again with {provider}")),
        EditionAction("treat-as-sent", _("Count as sent"), "risk"),
        EditionAction("resend-unknown", _("Resend unconfirmed copies"), "risk"),
        EditionAction("close", _("Close"), "risk"),
        EditionAction("cancel", _("Cancel"), "risk"),
    )
}
# Former names of actions, which scripts, links and programs may still use.
OLD_NAMES: Mapping[str, str] = {"send-doubtful": "resend-unknown"}


def perform(
    name: str, edition: Edition, status: EditionStatus, *, record: Callable[[str], None]
) -> list[Done]:
    """Do and record an action in one transaction; say what was done.

    Raises `CannotDoThatError`.
    """
    refusal = refusal_of(name, status)
    if refusal:
        raise CannotDoThatError(refusal, status)
    with together():
        numbers = _do(name, edition)
        if numbers is None:
            raise CannotDoThatError(ActionRefusal.MOVED_ON, status)
        # If the issue reached nobody, these actions turn it into a draft again.
        draft = restore_draft(edition) if name in ("call-back", "cancel") else ""
        record(name)
    return done_sentences(name, numbers, draft)


def applicable(status: EditionStatus) -> list[EditionAction]:
    """Return the actions that this state allows, in the order of the page."""
    return [action for action in ACTIONS.values() if not refusal_of(action.name, status)]


def readers_now(status: EditionStatus) -> int:
    """Count an edition's readers; count a scheduled edition's as if it started now."""
    if status.counts.control != "scheduled":
        return status.counts.audience
    edition = Edition.objects.only("goes_to", "with_tags", "without_tags").get(
        pk=status.counts.edition
    )
    tags = TagChoice.of(edition)
    audience = select_audience(edition.issue_id, edition.version, edition.goes_to, tags=tags)
    return audience.count()


def refusal_of(action: str, status: EditionStatus) -> ActionRefusal | None:
    """Return why an action or `reschedule` is refused: the first reason that applies."""
    counts, state, why = status.counts, status.state, ActionRefusal
    is_scheduled = counts.control == "scheduled"
    sends_no_more = state in {EditionState.CANCELLED, EditionState.CLOSED}
    has_ended = sends_no_more or state is EditionState.SUCCEEDED
    is_held = counts.now < counts.held_until and counts.waiting > 0
    restored = (counts.unreconciled, why.RESTORED)
    can_be_asked = capabilities().can_be_asked
    transactional = (counts.is_transactional, why.TRANSACTIONAL)
    # Check the approval only for these two actions, because the check takes a query.
    awaits_approval = action in {"resume", "send-now"} and _awaits_approval(counts)
    rules: Mapping[str, list[tuple[object, ActionRefusal | None]]] = {
        "pause": [
            (state in {EditionState.HELD, EditionState.SENDING}, None),
            (is_scheduled, why.NOT_STARTED),
            (True, why.NOT_SENDING),
        ],
        "resume": [
            restored,
            (counts.control not in {"paused", "stopped"}, why.NOT_PAUSED),
            (awaits_approval, why.NEEDS_APPROVAL),
        ],
        "send-now": [
            transactional,
            (awaits_approval, why.NEEDS_APPROVAL),
            (state in {EditionState.HELD, EditionState.SCHEDULED}, None),
            restored,
            (state is EditionState.PAUSED, why.PAUSED),
            (True, why.HOLD_ENDED),
        ],
        "call-back": [
            transactional,
            (has_ended, why.NOTHING_TO_CALL_BACK),
            restored,
            (not (is_held or is_scheduled), why.TOO_LATE_TO_CALL_BACK),
        ],
        "reschedule": [
            restored,
            (not is_scheduled, why.NOT_SCHEDULED),
            (counts.is_due, why.DUE),
        ],
        "cancel": [
            transactional,
            (has_ended, why.NOTHING_TO_CANCEL),
            (is_scheduled and counts.unreconciled, why.RESTORED),
            (not (is_scheduled or counts.waiting or counts.unknown), why.NOTHING_WAITING),
        ],
        "close": [
            transactional,
            (has_ended, why.NOTHING_TO_CLOSE),
            restored,
            (
                counts.queued_batches or counts.leased_batches or counts.paused_batches,
                why.STILL_WORKING,
            ),
            (counts.missed or counts.unknown or counts.control == "stopped", None),
            (True, why.NOTHING_TO_ACCEPT),
        ],
        "send-to-missed": [
            (sends_no_more, why.NOTHING_MORE_IS_SENT),
            restored,
            (not counts.missed, why.NOBODY_MISSED),
        ],
        "ask-again": [
            (state is EditionState.CLOSED, why.CLOSED),
            (not can_be_asked, why.CANNOT_BE_ASKED),
            (not counts.parked_batches, why.NOTHING_TO_DECIDE),
        ],
        "treat-as-sent": [
            (state is EditionState.CLOSED, why.CLOSED),
            (can_be_asked, why.CAN_BE_ASKED),
            (not counts.parked_batches, why.NOTHING_TO_DECIDE),
        ],
        "resend-unknown": [
            (sends_no_more, why.NOTHING_MORE_IS_SENT),
            restored,
            (not counts.parked_batches, why.NOTHING_TO_DECIDE),
        ],
    }
    return next((refusal for applies, refusal in rules[action] if applies), None)


def _awaits_approval(counts: EditionCounts) -> bool:
    """Return whether nothing was sent yet and the sender changed after the approval."""
    # After a copy was sent, a change of the sender needs no new approval.
    may_be_unsent = counts.control == "scheduled" or (
        counts.control == "paused" and not (counts.sent or counts.unknown or counts.leased_batches)
    )
    return may_be_unsent and is_outdated(counts.edition)


def _do(action: str, edition: Edition) -> Mapping[str, Any] | None:
    """Do the action and return its counts; None if the edition's state has changed."""
    number: int | None
    match action:
        case "pause":
            return _numbers(edition) if edition_control.pause(edition.pk) else None
        case "resume":
            after_fault = Edition.objects.filter(pk=edition.pk, control="stopped").exists()
            is_resumed = edition_control.resume(edition.pk)
            return _numbers(edition, after_fault=after_fault) if is_resumed else None
        case "send-now":
            number = start_now(edition.pk)
            if number is not None:
                return {"started_for": number, "is_mailed": edition.goes_to != "nobody"}
            return {} if edition_control.send_now(edition.pk) else None
        case "call-back" | "cancel":
            is_called_back = action == "call-back"
            if scheduled_editions.cancel(edition.pk, called_back=is_called_back):
                return {}
            number = (edition_control.call_back if is_called_back else edition_control.cancel)(
                edition.pk
            )
            return None if number is None else _numbers(edition, withdrawn=number)
        case "close":
            return _numbers(edition) if edition_control.close(edition.pk) else None
        case "send-to-missed":
            size = batch_size_for(edition, batch_size())
            number = edition_control.send_to_missed(edition.pk, batch_size=size)
        case "ask-again":
            silences = len(settings.DELIVERY_LOOKUP_AFTER_S) - 1
            number = edition_control.ask_again(edition.pk, silences=silences)
        case "treat-as-sent":
            number = treat_as_sent(edition.pk)
        case _:
            number = edition_control.resend_unknown(edition.pk)
    return None if number is None else {"copies": number}


def _numbers(edition: Edition, **numbers: int) -> Mapping[str, int]:
    counts = load_status(edition.pk).counts
    names = ("queued", "being_sent", "missed", "unknown")
    return {name: getattr(counts, name) for name in names} | numbers


def reschedule(
    edition: Edition,
    at: ScheduledTime,
    *,
    before: datetime | None = None,
    record: Callable[[ScheduledTime], None],
) -> None:
    """Give a scheduled edition another time.

    `before` is the time that the author's form showed, None for a program. `record` is called
    with the old time and writes the activity log in the same transaction. If the edition is already
    scheduled for this time, nothing changes. Raises `CannotDoThatError`.
    """
    status = load_status(edition.pk)
    old = status.counts.scheduled
    if status.counts.control == "scheduled" and old == at:
        return
    refusal = refusal_of("reschedule", status)
    if refusal or old is None:
        raise CannotDoThatError(refusal or ActionRefusal.NOT_SCHEDULED, status)
    if before not in {None, old.utc}:
        raise CannotDoThatError(ActionRefusal.RESCHEDULED_MEANWHILE, status)
    with together():
        if scheduled_editions.move(edition.pk, at, before=old.utc):
            record(old)
            return
    # Another tab may have sent the same request, so the edition may already have the new time.
    if scheduled_time_of(Edition.objects.get(pk=edition.pk)) != at:
        raise CannotDoThatError(ActionRefusal.MOVED_ON, status)
