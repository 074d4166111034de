"""What an author may do with one reader. Nothing here makes a reader confirmed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from subscribers.data_requests.erase import erase
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from subscribers.models.consent_record import How
from subscribers.suppression.manual_suppression import block, is_blocked, unblock


@dataclass(frozen=True, slots=True)
class Action:
    """One action, recorded under its name. `perform` says whether there was anything to do."""

    name: str
    label: str
    question: str
    button: str
    done_message: str
    applies: Callable[[Subscriber], bool]
    perform: Callable[[int], bool]
    tone: str = "risk"


_UNSUBSCRIBE = Action(
    "unsubscribe",
    "Unsubscribe",
    "They get no further letter, and none of an issue that is being sent unless their copy has "
    "already left. Only the reader can come back, by signing up and confirming.",
    "Unsubscribe this reader",
    "Unsubscribed. It took effect at once.",
    lambda reader: reader.unsubscribed_at is None,
    lambda subscriber_id: leave(subscriber_id, How.OPERATOR),
)
_BLOCK = Action(
    "shut-out",
    "Block this address",
    "Nothing is mailed to this address any more: no letters, no mail to confirm and none with "
    "their data. The reader cannot undo it; an author can unblock the address here.",
    "Block this address",
    "Blocked. Nothing is mailed to this address.",
    lambda reader: not is_blocked(reader.email_key),
    block,
)
_UNBLOCK = Action(
    "let-in",
    "Unblock this address",
    "Your own block ends. A reader who left, bounced or complained stays as they are, and so does "
    "what Postmark reported about the address.",
    "Unblock this address",
    "Unblocked. The state of the reader did not change.",
    lambda reader: is_blocked(reader.email_key),
    unblock,
    tone="",
)
_ERASE = Action(
    "erase",
    "Erase",
    "Everything that is held about this reader goes: address, fields, consent, bounces, and which "
    "copies were theirs. A keyed hash stays, so that no import brings them back. It cannot be "
    "undone.",
    "Erase this reader",
    "Erased. Nothing is held about this reader any more.",
    lambda _: True,
    erase,
)
ACTIONS: Mapping[str, Action] = {
    action.name: action for action in (_UNSUBSCRIBE, _BLOCK, _UNBLOCK, _ERASE)
}


def applicable_actions(reader: Subscriber) -> list[Action]:
    """The actions that change something about this reader now."""
    return [action for action in ACTIONS.values() if action.applies(reader)]
