"""Define the kinds of faults, and the rules that decide when a fault acts.

A rule watches the calls to its path. A rule for webhooks watches events, and its path is the type
of these events.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from random import Random
from typing import Any, NamedTuple


class FaultPoint(Enum):
    """A moment in a call when a kind of fault acts."""

    ARRIVAL = "before the request is read"
    INSTEAD = "instead of judging the request"
    REPLY = "after judging the request"
    EVENT = "when a webhook is posted"


SEND_PATHS = ("/email", "/email/batch")
SEARCH_PATHS = ("/messages/*",)
EVERY_EVENT = ("*",)


class FaultKind(NamedTuple):
    """Kind of fault.

    `unreported` is the inbox's text for a message whose caller did not learn that it was accepted.
    If `lasting` is true, the fault stays by default until it is cleared.
    """

    point: FaultPoint
    label: str
    parameters: dict[str, Any] = {}
    paths: tuple[str, ...] = SEND_PATHS
    unreported: str = ""
    lasting: bool = False


_instead = partial(FaultKind, FaultPoint.INSTEAD)
_reply = partial(FaultKind, FaultPoint.REPLY)
_event = partial(FaultKind, FaultPoint.EVENT, paths=EVERY_EVENT)
FAULT_KINDS = {
    "accept_then_close": _reply("Accept, then drop the connection", unreported="reply dropped"),
    "accept_then_500": _reply("Accept, then answer 500", unreported="answered 500"),
    "accept_then_stall": _reply(
        "Accept, then stall and hang up", {"seconds": 30.0}, unreported="reply stalled"
    ),
    "accept_then_truncate": _reply(
        "Accept, then cut the reply short", unreported="reply cut short"
    ),
    "accept_then_garble": _reply("Accept, then garble the reply", unreported="reply garbled"),
    "accept_then_wrong_length": _reply(
        "Accept, then answer one result too few", unreported="one result too few"
    ),
    "accept_then_swap_ids": _reply("Accept, then answer the ids in reverse order"),
    "accept_first_k_then_close": _reply(
        "Accept the first k, then drop the connection", {"k": 1}, unreported="reply dropped"
    ),
    "success_without_error_code": _reply("Accept without an ErrorCode"),
    "slow": _reply("Answer slowly", {"seconds": 1.0}),
    "hold": _reply("Hold the call until released", {"moment": "after_accept"}),
    "item_error": _reply(
        "Refuse single messages", {"code": 300, "text": "", "recipients": (), "k": None}
    ),
    "refuse_429": _instead("Answer 429", {"retry_after": None}),
    "maintenance_503": _instead("Answer 503, maintenance"),
    "bad_gateway_502_html": _instead("Answer 502 with a page"),
    "forbidden_403_html": _instead("Answer 403 with a page"),
    "unauthorized_401": _instead("Answer 401"),
    "payload_too_large_413": _instead("Answer 413"),
    "whole_422": _instead("Refuse the whole request, 422", {"code": 400, "text": ""}),
    "close_before_reading": FaultKind(FaultPoint.ARRIVAL, "Hang up before reading"),
    "reset": FaultKind(FaultPoint.ARRIVAL, "Reset the connection before reading"),
    "search_delay": _reply("Delay the search index", {"seconds": 60.0}, SEARCH_PATHS, lasting=True),
    "search_503": _instead("Answer searches with 503", paths=SEARCH_PATHS),
    "search_429": _instead("Answer searches with 429", {"retry_after": None}, SEARCH_PATHS),
    "webhook_duplicate": _event("Post an event again", {"k": 1, "seconds": 0.0}),
    "webhook_reorder": _event("Post events in another order", {"k": 10, "seconds": 1.0}),
    "webhook_delay": _event("Post an event late", {"seconds": 5.0}),
    "webhook_very_late": _event("Post an event very late", {"seconds": 3600.0}),
    "webhook_unknown_message": _event("Post an event about an unknown message"),
    "webhook_delivery_after_bounce": _event("Post a Delivery after the Bounce", paths=("Bounce",)),
}
HOLD_MOMENTS = ("before_accept", "after_accept")
CONDITIONS = ("calls", "nth", "every", "probability", "seed", "path", "recipient")


@dataclass(slots=True)
class FaultRule:
    """A fault and when it acts.

    If `calls` is None, the rule acts on any number of calls. In `paths`, `*` matches anything.
    """

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

    @property
    def spent(self) -> bool:
        """Return whether the rule can never act again."""
        done = self.calls is not None and self.fired >= self.calls
        return done or (self.nth is not None and self.watched >= self.nth)

    def fires(self, path: str, recipients: Iterable[str]) -> bool:
        """Count a call that the rule watches; return whether the fault hits it."""
        path = path.lower()
        watched = any(
            path == own or ("*" in own and fnmatchcase(path, own))
            for own in map(str.lower, self.paths)
        )
        if not watched or self.recipient not in (None, *recipients) or self.spent:
            return False
        self.watched += 1
        chance = self.probability is None or self.random.random() < self.probability
        hit = (
            chance
            and self.nth in (None, self.watched)
            and (self.every is None or self.watched % self.every == 0)
        )
        self.fired += hit
        return hit

    def as_json(self) -> dict[str, Any]:
        """Return the rule as the control API shows it."""
        names = ("calls", "nth", "every", "probability", "seed", "recipient", "watched", "fired")
        shown = {name: getattr(self, name) for name in ("id", "kind", *names, "spent")}
        label, path = FAULT_KINDS[self.kind].label, ",".join(self.paths)
        return {**shown, **self.settings, "label": label, "path": path}


class FaultRules:
    """Active rules, in the order in which they were set."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._rules: list[FaultRule] = []
        self._last_id = 0

    def set(self, data: dict[str, Any]) -> FaultRule:
        """Activate a rule from its JSON form, or raise ValueError."""
        with self._lock:
            rule = read_rule(data, self._last_id + 1, self._seed)
            self._last_id = rule.id
            self._rules.append(rule)
            return rule

    def clear(self, number: int | None = None) -> int:
        """Remove one rule, or all rules; return the number of removed rules."""
        with self._lock:
            before = len(self._rules)
            self._rules = [r for r in self._rules if number is not None and r.id != number]
            return before - len(self._rules)

    def all(self) -> list[FaultRule]:
        """Return every rule that was set and not cleared, including used-up rules."""
        with self._lock:
            return list(self._rules)

    def on_call(
        self, path: str, recipients: Iterable[str], *points: FaultPoint
    ) -> FaultRule | None:
        """Return the first rule that hits this call at one of these points, or None."""
        with self._lock:
            rules = (rule for rule in self._rules if FAULT_KINDS[rule.kind].point in points)
            return next((rule for rule in rules if rule.fires(path, recipients)), None)

    def on_event(self, record_type: str, address: str) -> list[FaultRule]:
        """Return every rule that matches this event. `address` is in lower case."""
        with self._lock:
            rules = [r for r in self._rules if FAULT_KINDS[r.kind].point is FaultPoint.EVENT]
            return [rule for rule in rules if rule.fires(record_type, (address,))]


def read_rule(data: dict[str, Any], number: int, seed: int) -> FaultRule:
    """Read a rule from JSON with its `kind`, the kind's parameters, and its timing.

    Without `calls`, `nth`, `every` or `probability`, a rule of a lasting kind acts on every call,
    and any other rule only on the next call. With `"calls": null`, the rule acts on every call.
    """
    name = data.get("kind")
    kind = FAULT_KINDS.get(str(name))
    if kind is None:
        raise ValueError(f"There is no fault '{name}'. Known faults: {', '.join(FAULT_KINDS)}.")
    known = (*kind.parameters, *CONDITIONS)
    for given in data:
        if given not in (*known, "kind"):
            raise ValueError(
                f"The fault {name} has no parameter '{given}'. It takes: {', '.join(known)}."
            )
    settings = {n: _read(n, data.get(n, default)) for n, default in kind.parameters.items()}
    sometimes = any(data.get(n) is not None for n in ("nth", "every", "probability"))
    own_seed = _whole("seed", data.get("seed", seed), least=None)
    probability = data.get("probability")
    if probability is not None and (probability := _number("probability", probability)) > 1:
        raise ValueError(f"'probability' is {probability}; expected a number from 0 to 1.")
    path, recipient = data.get("path"), data.get("recipient")
    if not isinstance(path, str | None) or not isinstance(recipient, str | None):
        raise ValueError("'path' and 'recipient' must be strings.")
    return FaultRule(
        id=number,
        kind=str(name),
        settings=settings,
        paths=tuple(path.split(",")) if path else kind.paths,
        calls=_read("calls", data.get("calls", None if sometimes or kind.lasting else 1)),
        nth=_read("nth", data.get("nth")),
        every=_read("every", data.get("every")),
        probability=probability,
        seed=own_seed,
        recipient=recipient.lower() if recipient else None,
        random=Random(own_seed),
    )


def _read(name: str, value: Any) -> Any:
    match name:
        case "seconds":
            return _number(name, value)
        case "code":
            return _whole(name, value)
        case "calls" | "nth" | "every":
            return None if value is None else _whole(name, value)
        case "k" | "retry_after":
            return None if value is None else _whole(name, value, least=0)
        case "recipients":
            addresses = [value] if isinstance(value, str) else value
            if not all(isinstance(address, str) for address in addresses):
                raise ValueError("'recipients' must be a list of addresses.")
            return [address.lower() for address in addresses]
        case "moment" if value not in HOLD_MOMENTS:
            known = ", ".join(HOLD_MOMENTS)
            raise ValueError(f"'moment' is '{value}'; expected one of: {known}.")
    return str(value)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < 1e9:
        raise ValueError(f"'{name}' is {value!r}; expected a number of at least 0.")
    return number


def _whole(name: str, value: Any, *, least: int | None = 1) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ValueError(f"'{name}' is {value!r}; expected a whole number.") from None
    if least is not None and number < least:
        raise ValueError(f"'{name}' is {number}; expected at least {least}.")
    return number
