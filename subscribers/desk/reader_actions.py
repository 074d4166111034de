"""The actions of authors on one reader. None makes a reader confirmed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from subscribers.data_requests.erase import erase
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from subscribers.models.consent_record import How
from subscribers.suppression.manual_suppression import block, is_blocked, unblock

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


@dataclass(frozen=True, slots=True)
class Action:
    """An action, recorded under its name. `perform` returns False if nothing changed."""

    name: str
    label: StrPromise
    heading: StrPromise
    question: StrPromise
    button: StrPromise
    done_message: StrPromise
    applies: Callable[[Subscriber], bool]
    perform: Callable[[int], bool]
    tone: str = "risk"


_UNSUBSCRIBE = Action(
    name="unsubscribe",
    label=_("Unsubscribe"),
    heading=_("Unsubscribe this reader?"),
    question=_(
        "They get no more letters. This includes an issue that is being sent, unless their "
        "copy has already been sent. Only the reader can resubscribe, by signing up and confirming."
    ),
    button=_("Unsubscribe this reader"),
    done_message=_("Unsubscribed. This took effect immediately."),
    applies=lambda reader: reader.unsubscribed_at is None,
    perform=lambda subscriber_id: leave(subscriber_id, How.OPERATOR),
)
_BLOCK = Action(
    name="shut-out",
    label=_("Block this address"),
    heading=_("Block this address?"),
    question=_(
        "Homing sends no more mail to this address: no letters, no confirmation emails and no "
        "links to their data. The reader cannot undo this. An author can unblock the address here."
    ),
    button=_("Block this address"),
    done_message=_("Blocked. Homing sends no mail to this address."),
    applies=lambda reader: not is_blocked(reader.email_key),
    perform=block,
)
_UNBLOCK = Action(
    name="let-in",
    label=_("Unblock this address"),
    heading=_("Unblock this address?"),
    question=_(
        "This ends the block. The reader’s state and Postmark’s reports about the address stay "
        "as they are."
    ),
    button=_("Unblock this address"),
    done_message=_("Unblocked. The reader’s state did not change."),
    applies=lambda reader: is_blocked(reader.email_key),
    perform=unblock,
    tone="",
)
_ERASE = Action(
    name="erase",
    label=_("Erase"),
    heading=_("Erase this reader?"),
    question=_(
        "This erases everything about the reader: address, fields, consent, bounces, and which "
        "copies they got. Only a code made from the address (a hash) stays, so imports cannot add "
        "them again. You cannot undo this."
    ),
    button=_("Erase this reader"),
    done_message=_("Erased. Homing keeps only a hash of the address."),
    applies=lambda _reader: True,
    perform=erase,
)
ACTIONS: Mapping[str, Action] = {
    action.name: action for action in (_UNSUBSCRIBE, _BLOCK, _UNBLOCK, _ERASE)
}


def applicable_actions(reader: Subscriber) -> list[Action]:
    """Return the actions that would change this reader now."""
    return [action for action in ACTIONS.values() if action.applies(reader)]
