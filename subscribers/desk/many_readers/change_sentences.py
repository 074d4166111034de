"""The words that the desk shows for changes of many readers."""

from collections.abc import Mapping
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import counted, digits
from delivery.interface import provider_name
from delivery.tasks.leased_task_columns import TaskState
from subscribers.models import ReaderChange

Action = ReaderChange.Action
LABELS: Mapping[str, Promise] = {
    Action.TAG: gettext_lazy("Put a tag on"),
    Action.UNTAG: gettext_lazy("Take a tag off"),
    Action.UNSUBSCRIBE: gettext_lazy("Unsubscribe"),
    Action.BLOCK: gettext_lazy("Block the addresses"),
    Action.LIFT_BOUNCE: gettext_lazy("Lift the bounces"),
    Action.ERASE: gettext_lazy("Erase"),
}
_EFFECTS: Mapping[str, Promise] = {
    Action.TAG: gettext_lazy(
        "The readers get no mail about this. Readers who left this topic do not get the tag. "
        "The tag changes who gets an issue that you limit to tags."
    ),
    Action.UNTAG: gettext_lazy(
        "The readers get no mail about this. The tag changes who gets an issue that you limit"
        " to tags."
    ),
    Action.UNSUBSCRIBE: gettext_lazy(
        "They get no more letters. This includes an issue that is being sent, unless their copy "
        "has already been sent. Only the readers can resubscribe, by signing up and confirming."
    ),
    Action.BLOCK: gettext_lazy(
        "Homing sends no more mail to these addresses: no letters, no confirmation emails and no "
        "links to their data. The readers cannot undo this. An author can unblock each address."
    ),
    Action.LIFT_BOUNCE: gettext_lazy(
        "Homing mails these addresses again. If {provider} blocks them, Homing asks {provider} to "
        "lift that too. Do this only if the bounces were wrong, for example after a fault at a "
        "mail provider. Readers who had confirmed get letters again; any others must still "
        "confirm. Readers who unsubscribed, complained or are blocked do not change."
    ),
    Action.ERASE: gettext_lazy(
        "This erases everything about the readers: address, fields, consent, bounces, and which "
        "copies they got. Only a code made from each address (a hash) stays, so imports cannot add "
        "them again. You cannot undo this."
    ),
}


_STOPPED: Mapping[str, Promise] = {
    TaskState.CANCELLED: gettext_lazy("Stopped."),
    TaskState.FAILED: gettext_lazy(
        "Ended by an error. The log has the reason. Start the change again for the other readers."
    ),
}


class Question(NamedTuple):
    """The words of a confirmation page."""

    heading: str
    effect: str
    button: Promise


def question(action: str, number: int, tag: str) -> Question:
    """Ask whether to change these readers, and say what the change does to them."""
    words = {
        Action.TAG: ngettext(
            "Put the tag “{tag}” on {n} reader?", "Put the tag “{tag}” on {n} readers?", number
        ),
        Action.UNTAG: ngettext(
            "Take the tag “{tag}” off {n} reader?", "Take the tag “{tag}” off {n} readers?", number
        ),
        Action.UNSUBSCRIBE: ngettext("Unsubscribe {n} reader?", "Unsubscribe {n} readers?", number),
        Action.BLOCK: ngettext(
            "Block the address of {n} reader?", "Block the addresses of {n} readers?", number
        ),
        Action.LIFT_BOUNCE: ngettext(
            "Lift the bounce of {n} reader?", "Lift the bounces of {n} readers?", number
        ),
        Action.ERASE: ngettext("Erase {n} reader?", "Erase {n} readers?", number),
    }
    heading = words[Action(action)].format(n=digits(number), tag=tag)
    return Question(heading, str(_EFFECTS[action]).format(provider=provider_name()), LABELS[action])


def progress_sentence(change: ReaderChange) -> str:
    """Say which part of a change is done, and how many readers it changed."""
    if change.is_open:
        sentence = _("Readers done: {done} of {total}. You can leave this page.")
        return sentence.format(done=digits(change.done), total=digits(change.total))
    if change.state in _STOPPED:
        numbers = _("Readers done: {done} of {total}. Changed: {n}.").format(
            done=digits(change.done), total=digits(change.total), n=digits(change.changed)
        )
        return f"{_STOPPED[change.state]} {numbers}"
    done = counted("Done: {n} reader changed.", "Done: {n} readers changed.", change.changed)
    rest = change.total - change.changed
    left = counted(
        "For {n} reader there was nothing to do.", "For {n} readers there was nothing to do.", rest
    )
    return f"{done} {left}" if rest else done
