"""List the things to do, as codes with parameters for `todo_item.html`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from delivery.rules.edition_state import EditionState, awaits_decision
from publishing.actions.action_sentences import button
from publishing.actions.edition_actions import applicable
from publishing.dashboard.sending_now import title_of
from publishing.editions.edition_status import EditionStatus

# The page shows at most this number of things of each kind.
SHOWN = 5
# The actions that end the wait for a decision, the most common first. Two other actions that cannot
# be undone, `resend-unknown` and `cancel`, are only on the edition's own page.
_SETTLING = ("resume", "send-to-missed", "ask-again", "close")


# The glyph and the tone of each kind of thing to do.
_LOOKS = {
    EditionState.PAUSED: ("paused", "doubt"),
    EditionState.NEEDS_ATTENTION: ("attention", "fault"),
    EditionState.CANCELLED: ("unknown", "doubt"),
    "alarm": ("attention", "fault"),
    "no_worker": ("attention", "fault"),
    "worker_warning": ("attention", "doubt"),
    "approval": ("attention", "doubt"),
    "import": ("waiting", ""),
    "draft": ("draft", ""),
}


@dataclass(frozen=True, slots=True)
class TodoList:
    """The number of things to do, and the first few of each kind."""

    count: int = 0
    shown: tuple[Mapping[str, Any], ...] = ()

    @property
    def left_out(self) -> int:
        """The number of things to do that are not shown."""
        return self.count - len(self.shown)

    def __add__(self, other: TodoList) -> TodoList:
        return TodoList(self.count + other.count, (*self.shown, *other.shown))


def todo_list(
    code: str, all_params: Iterable[Mapping[str, Any]], *, count: int | None = None
) -> TodoList:
    """List the things to do of one kind; `count` is the total if not all were read."""
    items = []
    for params in all_params:
        glyph, tone = _LOOKS[params["status"].state if code == "edition" else code]
        items.append({"code": code, "params": params, "glyph": glyph, "tone": tone})
    return TodoList(len(items) if count is None else count, tuple(items[:SHOWN]))


def editions_to_settle(statuses: Sequence[EditionStatus]) -> TodoList:
    """List the editions that wait for a decision, with an action that settles each."""
    return todo_list("edition", [_settling(one) for one in statuses if awaits_decision(one.counts)])


def no_worker(statuses: Sequence[EditionStatus]) -> TodoList:
    """Return the warning that no worker is running, if an edition waits for a worker."""
    stuck = [
        one
        for one in statuses
        if (one.state in (EditionState.HELD, EditionState.SENDING) or one.counts.is_due)
        and not one.counts.worker_is_there
    ]
    return todo_list("no_worker", [{"waiting": len(stuck)}] if stuck else [])


def _settling(status: EditionStatus) -> Mapping[str, Any]:
    names = {action.name for action in applicable(status)}
    action = next((name for name in _SETTLING if name in names), "")
    return {
        "status": status,
        "title": title_of(status),
        "action": action,
        "button": button(action, status, 0) if action else "",
    }
