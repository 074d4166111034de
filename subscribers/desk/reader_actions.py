"""The actions of authors on one reader. No action makes a reader confirmed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from subscribers.data_requests.erase import erase
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from subscribers.models.consent_record import How
from subscribers.record_activity import record_reader_activity
from subscribers.suppression.lift_bounces import can_lift_bounce, lift_bounce
from subscribers.suppression.manual_suppression import block, is_blocked, unblock


@dataclass(frozen=True, slots=True)
class Action:
    """An action on a reader. The activity log has the action's name.

    `perform` takes the reader's id and, if the action `needs_reason`, the author's reason.
    `perform` returns False if nothing changed.
    """

    name: str
    label: Promise
    heading: Promise
    question: Promise
    button: Promise
    done_message: Promise
    applies: Callable[[Subscriber], bool]
    perform: Callable[..., bool]
    tone: str = "risk"
    needs_reason: bool = False


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
    name="block",
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
    name="unblock",
    label=_("Unblock this address"),
    heading=_("Unblock this address?"),
    question=_(
        "This ends the block. The reader’s state and {provider}’s reports about the address stay "
        "as they are."
    ),
    button=_("Unblock this address"),
    done_message=_("Unblocked. The reader’s state did not change."),
    applies=lambda reader: is_blocked(reader.email_key),
    perform=unblock,
    tone="",
)
_LIFT_BOUNCE = Action(
    name="lift-bounce",
    label=_("Lift the bounce"),
    heading=_("Lift the bounce of this address?"),
    question=_(
        "Homing mails the address again. If {provider} blocks it, Homing asks {provider} to lift "
        "that too. Do this only if the bounce was wrong, for example after a fault at the reader’s "
        "mail provider. A reader who had confirmed gets letters again; any other reader must still "
        "confirm. Another bounce suppresses the address again."
    ),
    button=_("Lift the bounce"),
    done_message=_("Lifted. Homing mails the address again."),
    applies=can_lift_bounce,
    perform=lift_bounce,
    tone="",
    needs_reason=True,
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
    action.name: action for action in (_UNSUBSCRIBE, _BLOCK, _UNBLOCK, _LIFT_BOUNCE, _ERASE)
}
# These former names of actions still work, because links and programs may use them.
OLD_NAMES: Mapping[str, str] = {"shut-out": "block", "let-in": "unblock"}


def applicable_actions(reader: Subscriber) -> list[Action]:
    """Return the actions that would change this reader now."""
    return [action for action in ACTIONS.values() if action.applies(reader)]


@transaction.atomic
def perform_action(action: Action, reader: int, by: UUID, reason: str = "") -> bool:
    """Perform and record an action on a reader; False if nothing changed."""
    given = [reason] if action.needs_reason else []
    done = action.perform(reader, *given)
    if done:
        params = {"reason": reason} if action.needs_reason else {}
        record_reader_activity(action.name, by, reader, **params)
    return done
