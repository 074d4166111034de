"""What a person at the desk may do about one reader. Nothing here makes anybody confirmed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from subscribers.data_requests.erase import erase
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from subscribers.models.consent_record import How
from subscribers.suppression.manual_suppression import is_shut_out, let_in, shut_out


@dataclass(frozen=True, slots=True)
class Action:
    """
    One thing that may be done: asked about first, done by a POST, and put into the audit trail.

    `may` says whether there is anything to do, `perform` does it and says whether it did.
    """

    name: str
    label: str
    question: str
    words: str
    done: str
    may: Callable[[Subscriber], bool]
    perform: Callable[[int], bool]
    tone: str = ""


def _leave(subscriber_id: int) -> bool:
    return leave(subscriber_id, How.OPERATOR)


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        action.name: action
        for action in (
            Action(
                "unsubscribe",
                "Unsubscribe for them",
                "They get no further letter, and none of an issue that is going out now unless "
                "their copy has already left. Only they themselves can come back, by signing up "
                "and confirming; nobody at the desk can bring them back.",
                "Unsubscribe this reader",
                "Unsubscribed. It took effect at once.",
                lambda reader: reader.unsubscribed_at is None,
                _leave,
                tone="risk",
            ),
            Action(
                "shut-out",
                "Shut the address out",
                "Nothing is mailed to this address any more, neither letters nor a mail to confirm "
                "or with their record, and they cannot come back by themselves. Somebody at the "
                "desk can let the address in again.",
                "Shut this address out",
                "Shut out. Nothing is mailed to this address.",
                lambda reader: not is_shut_out(reader.email_key),
                shut_out,
                tone="risk",
            ),
            Action(
                "let-in",
                "Let the address in again",
                "The desk's own word is taken back. Whoever left, bounced or complained stays as "
                "they are, and so does what Postmark told of the address.",
                "Let this address in again",
                "Let in again. How the reader themselves stands did not change.",
                lambda reader: is_shut_out(reader.email_key),
                let_in,
            ),
            Action(
                "erase",
                "Erase",
                "Everything that is held about this person goes: address, name, consent, bounces, "
                "and whose each of their copies was. A keyed hash stays, so that no import brings "
                "them back. It cannot be undone.",
                "Erase this reader",
                "Erased. Nothing is held about this reader any more.",
                lambda _: True,
                erase,
                tone="risk",
            ),
        )
    }
)


def possible(reader: Subscriber) -> list[Action]:
    """What there is to do about this reader now."""
    return [action for action in ACTIONS.values() if action.may(reader)]
