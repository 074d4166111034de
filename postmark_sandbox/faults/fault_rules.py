"""The only place for faults on request: which kinds there are, and when a rule fires.

A rule watches the calls to its path and fires on some of them; a rule for webhooks watches events,
their type in place of the path. Chance is drawn from the rule's own seed, once for each call or
event it watches, so the same seed and the same order of calls give the same faults.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from random import Random
from typing import Any


class Moment(Enum):
    """When in a call a kind of fault acts."""

    ARRIVAL = "before the request is read"
    INSTEAD = "instead of judging the request"
    REPLY = "after the messages were accepted"
    SEARCH = "in the search index"
    EVENT = "when a webhook is told"


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing that can go wrong. `untold`: the caller does not properly learn of what was
    accepted. `takes`: the parameters it reads, with their defaults. `lasting`: it stays until it
    is cleared unless told otherwise."""

    moment: Moment
    label: str
    untold: bool = False
    lasting: bool = False
    takes: dict[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ("/email", "/email/batch")


SEARCH_PATHS = ("/messages/*",)
SUPPRESSION_PATHS = (
    "/message-streams/*/suppressions",
    "/message-streams/*/suppressions/delete",
    "/bounces/*/activate",
)
EVERY_EVENT = ("*",)
KINDS = {
    "accept_then_close": Kind(Moment.REPLY, "Accept, then drop the connection", untold=True),
    "accept_then_500": Kind(Moment.REPLY, "Accept, then answer 500", untold=True),
    "accept_then_stall": Kind(
        Moment.REPLY, "Accept, then stall and hang up", untold=True, takes={"seconds": 30.0}
    ),
    "accept_then_drip": Kind(
        Moment.REPLY, "Accept, then answer byte by byte", untold=True, takes={"seconds": 30.0}
    ),
    "accept_then_truncate": Kind(Moment.REPLY, "Accept, then cut the reply short", untold=True),
    "accept_then_garble": Kind(Moment.REPLY, "Accept, then garble the reply", untold=True),
    "accept_then_wrong_length": Kind(
        Moment.REPLY, "Accept, then answer one result too few", untold=True
    ),
    "accept_first_k_then_close": Kind(
        Moment.REPLY, "Accept the first k, then drop the connection", untold=True, takes={"k": 1}
    ),
    "success_without_error_code": Kind(Moment.REPLY, "Accept without an ErrorCode"),
    "slow": Kind(Moment.REPLY, "Answer slowly", takes={"seconds": 1.0}),
    "hold": Kind(Moment.REPLY, "Hold the call until released", takes={"moment": "after_accept"}),
    "item_error": Kind(
        Moment.REPLY,
        "Refuse single messages",
        takes={"code": 300, "text": "", "recipients": (), "k": None},
    ),
    "refuse_429": Kind(Moment.INSTEAD, "Answer 429", takes={"retry_after": None}),
    "maintenance_503": Kind(Moment.INSTEAD, "Answer 503, maintenance"),
    "bad_gateway_502_html": Kind(Moment.INSTEAD, "Answer 502 with a page"),
    "forbidden_403_html": Kind(Moment.INSTEAD, "Answer 403 with a page"),
    "unauthorized_401": Kind(Moment.INSTEAD, "Answer 401"),
    "payload_too_large_413": Kind(Moment.INSTEAD, "Answer 413"),
    "whole_422": Kind(
        Moment.INSTEAD, "Refuse the whole request, 422", takes={"code": 400, "text": ""}
    ),
    "close_before_reading": Kind(Moment.ARRIVAL, "Hang up before reading"),
    "reset": Kind(Moment.ARRIVAL, "Reset the connection before reading"),
    "search_delay": Kind(
        Moment.SEARCH,
        "Search index late",
        lasting=True,
        takes={"seconds": 60.0},
        paths=SEARCH_PATHS,
    ),
    "search_503": Kind(Moment.INSTEAD, "Search answers 503", paths=SEARCH_PATHS),
    "search_429": Kind(
        Moment.INSTEAD, "Search answers 429", takes={"retry_after": None}, paths=SEARCH_PATHS
    ),
    "suppression_delay": Kind(
        Moment.REPLY,
        "Suppressions take effect late",
        lasting=True,
        takes={"seconds": 60.0},
        paths=SUPPRESSION_PATHS,
    ),
    "webhook_before_reply": Kind(
        Moment.REPLY, "Tell the webhooks before the reply", takes={"seconds": 10.0}
    ),
    "webhook_duplicate": Kind(
        Moment.EVENT,
        "Tell an event again",
        takes={"k": 1, "seconds": 0.0},
        paths=EVERY_EVENT,
    ),
    "webhook_reorder": Kind(
        Moment.EVENT,
        "Tell events in another order",
        takes={"k": 10, "seconds": 1.0},
        paths=EVERY_EVENT,
    ),
    "webhook_delay": Kind(
        Moment.EVENT, "Tell an event late", takes={"seconds": 5.0}, paths=EVERY_EVENT
    ),
    "webhook_very_late": Kind(
        Moment.EVENT, "Tell an event very late", takes={"seconds": 3600.0}, paths=EVERY_EVENT
    ),
    "webhook_unknown_message": Kind(
        Moment.EVENT, "Tell of a message that nobody sent", paths=EVERY_EVENT
    ),
    "webhook_delivery_after_bounce": Kind(
        Moment.EVENT, "Tell a Delivery after the Bounce", paths=("Bounce",)
    ),
}
HOLD_MOMENTS = ("before_accept", "after_accept")
WHEN = ("calls", "nth", "every", "probability", "seed", "path", "recipient")


class BadFault(ValueError):  # noqa: N818
    """A fault that cannot be set; its text says what was found and what is expected."""


@dataclass(slots=True)
class Rule:
    """One fault and when it fires. `calls` None: without end. In `paths` a `*` stands for anything.
    `settings` are the parameters of the kind."""

    id: int
    kind: str
    settings: dict[str, Any]
    paths: tuple[str, ...]
    calls: int | None
    nth: int | None
    every: int | None
    probability: float | None
    seed: int
    recipient: str | None
    random: Random = field(repr=False)
    watched: int = 0
    fired: int = 0

    def watches(self, path: str) -> bool:
        """Whether calls to this path, or events of this type, are this rule's business."""
        return any(path == own or ("*" in own and fnmatchcase(path, own)) for own in self.paths)

    def spent(self) -> bool:
        """Whether it can never fire again."""
        done = self.calls is not None and self.fired >= self.calls
        return done or (self.nth is not None and self.watched >= self.nth)

    def fires(self) -> bool:
        """Counts one watched call and tells whether it is hit."""
        if self.spent():
            return False
        self.watched += 1
        chance = self.probability is None or self.random.random() < self.probability
        hit = (
            chance
            and (self.nth is None or self.watched == self.nth)
            and (self.every is None or self.watched % self.every == 0)
        )
        self.fired += hit
        return hit

    def described(self) -> dict[str, Any]:
        """The rule as the control API shows it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "label": KINDS[self.kind].label,
            **self.settings,
            "path": ",".join(self.paths),
            "calls": self.calls,
            "nth": self.nth,
            "every": self.every,
            "probability": self.probability,
            "seed": self.seed,
            "recipient": self.recipient,
            "watched": self.watched,
            "fired": self.fired,
            "spent": self.spent(),
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that hits one call."""

    kind: str
    settings: dict[str, Any]

    @property
    def moment(self) -> Moment:
        """When it acts."""
        return KINDS[self.kind].moment

    @property
    def untold(self) -> bool:
        """Whether the caller does not properly learn of what was accepted."""
        return KINDS[self.kind].untold


class Faults:
    """The rules in force, in the order in which they were set."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._next_id = 1

    def set(self, data: dict[str, Any]) -> Rule:
        """Puts a rule in force from its JSON form, or BadFault with the reason."""
        with self._lock:
            rule = read_rule(data, self._next_id, self._seed)
            self._next_id += 1
            self._rules.append(rule)
            return rule

    def clear(self, number: int | None = None) -> int:
        """Takes one rule, or all of them, out of force; how many there were."""
        with self._lock:
            before = len(self._rules)
            self._rules = [r for r in self._rules if number is not None and r.id != number]
            return before - len(self._rules)

    def all(self) -> list[Rule]:
        """Every rule that was set and not cleared, spent ones as well."""
        with self._lock:
            return list(self._rules)

    def on_arrival(self, path: str) -> Fault | None:
        """The fault that hits this call before its request is read, if any."""
        return self._draw(path, (Moment.ARRIVAL,), ())

    def on_request(self, path: str, recipients: Iterable[str]) -> Fault | None:
        """The fault that hits this call, if any: the first rule that fires."""
        return self._draw(path, (Moment.INSTEAD, Moment.REPLY, Moment.SEARCH), recipients)

    def on_event(self, record_type: str, address: str) -> list[Rule]:
        """Every rule for webhooks that hits this event: they all act. `address` in lower case."""
        if not self._rules:
            return []
        with self._lock:
            return [
                rule
                for rule in self._rules
                if KINDS[rule.kind].moment is Moment.EVENT
                and rule.watches(record_type)
                and rule.recipient in (None, address)
                and rule.fires()
            ]

    def watch_for_recipients(self) -> bool:
        """Whether any rule asks for a recipient, so that the request must be looked into."""
        return any(rule.recipient for rule in self._rules)

    def _draw(
        self, path: str, moments: tuple[Moment, ...], recipients: Iterable[str]
    ) -> Fault | None:
        if not self._rules:
            return None
        with self._lock:
            for rule in self._rules:
                if KINDS[rule.kind].moment not in moments or not rule.watches(path):
                    continue
                if rule.recipient is not None and rule.recipient not in recipients:
                    continue
                if rule.fires():
                    return Fault(rule.kind, rule.settings)
        return None


def read_rule(data: dict[str, Any], number: int, seed: int) -> Rule:
    """A rule from its JSON form: `kind`, the parameters of that kind, and when it fires.

    Without `calls`, `nth`, `every` or `probability` it fires on the next call only (what is late
    as a whole, index or suppressions: on every one); with `"calls": null` on every call.
    """
    kind = data.get("kind")
    if kind not in KINDS:
        raise BadFault(f"There is no fault '{kind}'. Known: {', '.join(KINDS)}.")
    takes = KINDS[kind].takes
    unknown = [name for name in data if name not in (*takes, *WHEN, "kind")]
    if unknown:
        known = ", ".join((*takes, *WHEN))
        raise BadFault(f"The fault {kind} has no '{unknown[0]}'. It takes: {known}.")
    settings = {name: _setting(name, data.get(name, default)) for name, default in takes.items()}
    once = not any(data.get(name) is not None for name in ("nth", "every", "probability"))
    once = once and not KINDS[kind].lasting
    own_seed = _whole(data.get("seed", seed), "seed", least=None)
    probability = data.get("probability")
    if probability is not None:
        probability = _number(probability, "probability")
        if probability > 1:
            raise BadFault(f"'probability' is {probability}; expected a number from 0 to 1.")
    path, recipient = data.get("path"), data.get("recipient")
    if not isinstance(path, str | None) or not isinstance(recipient, str | None):
        raise BadFault("'path' and 'recipient' are texts.")
    return Rule(
        id=number,
        kind=kind,
        settings=settings,
        paths=tuple(path.split(",")) if path else KINDS[kind].paths,
        calls=_whole_or_none(data.get("calls", 1 if once else None), "calls"),
        nth=_whole_or_none(data.get("nth"), "nth"),
        every=_whole_or_none(data.get("every"), "every"),
        probability=probability,
        seed=own_seed,
        recipient=recipient.lower() if recipient else None,
        random=Random(own_seed),
    )


def _setting(name: str, value: Any) -> Any:
    if name == "seconds":
        return _number(value, name)
    if name == "code":
        return _whole(value, name, least=1)
    if name in ("k", "retry_after"):
        return None if value is None else _whole(value, name, least=0)
    if name == "recipients":
        if isinstance(value, str):
            value = [value]
        if not all(isinstance(one, str) for one in value):
            raise BadFault("'recipients' is a list of addresses.")
        return [one.lower() for one in value]
    if name == "moment" and value not in HOLD_MOMENTS:
        raise BadFault(f"'moment' is '{value}'; expected one of: {', '.join(HOLD_MOMENTS)}.")
    return str(value)


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < 1e9:
        raise BadFault(f"'{name}' is {value!r}; expected a number of at least 0.")
    return number


def _whole(value: Any, name: str, *, least: int | None = 1) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise BadFault(f"'{name}' is {value!r}; expected a whole number.") from None
    if least is not None and number < least:
        raise BadFault(f"'{name}' is {number}; expected at least {least}.")
    return number


def _whole_or_none(value: Any, name: str) -> int | None:
    return None if value is None else _whole(value, name)
