"""The outcome of each delivery, and everything that settling a batch writes, as values. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from delivery.rules.reason import Reason


@dataclass(frozen=True, slots=True)
class WithReason:
    """What happened to a delivery or a call, and why."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Sent:
    """The provider accepted it; `at` is the provider's time, None if it named none."""

    message_id: str
    at: datetime | None


class Suppressed(WithReason):
    """It may not be mailed: suppressed by us, or inactive at the provider (406)."""


class Withdrawn(WithReason):
    """The reader left before it was sent."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Its address can never be mailed (`refused`), its tries are used up, or it was parked."""

    reason: Reason
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have been accepted; the provider is asked before anything else."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It was surely not accepted and waits for its next try."""


Outcome = Sent | Suppressed | Withdrawn | Failed | Unknown | Waiting


class Next(StrEnum):
    """What a batch does when its call or look-up is settled."""

    DONE = "done"
    TRY_AGAIN = "try again"
    LOOK_UP = "look up"
    HALVE = "halve"
    WAIT_FOR_DECISION = "wait for a decision"


@dataclass(frozen=True, slots=True)
class Settlement:
    """Everything that settling writes.

    `outcomes` holds the deliveries whose outcome changes, by recipient. The next step is due
    `delay_s` from now and, for a scheduled look-up, not before `lookup_after_s` from when the
    attempt became unknown. `counts_as_try`: the waiting deliveries have used up one try.
    `confirmed_absent`: a look-up answered “not there”. `new_deferrals` counts put-offs in a row,
    `new_blocked` refusals before the provider. `duplicates` holds further acceptances."""

    next: Next
    outcomes: Mapping[int, Outcome] = field(default_factory=dict)
    delay_s: float = 0.0
    lookup_after_s: float = 0.0
    counts_as_try: bool = False
    reason: Reason | None = None
    stop_edition: Reason | None = None
    confirmed_absent: bool = False
    new_deferrals: int = 0
    new_blocked: int = 0
    duplicates: Mapping[int, Sequence[Sent]] = field(default_factory=dict)
