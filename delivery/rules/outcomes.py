"""
What settling writes down, as values: the fate of each delivery and what the batch does next.

Pure. `retries.py` decides on them, `queue/` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

# --- What becomes of one delivery ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sent:
    """It was accepted; `at` is None where the provider named no time."""

    message_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Suppressed:
    """It may not be mailed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The reader left before their copy did."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot be mailed (`refused`), or all tries are used up, or it was parked."""

    reason: str
    refused: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have been accepted; the provider is asked before anything else."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It was surely not accepted and waits for its next try."""


Fate = Sent | Suppressed | Withdrawn | Failed | Unknown | Waiting

# --- What becomes of the batch ------------------------------------------------------------------


class Next(StrEnum):
    """What a batch does when its call or look-up is settled."""

    DONE = "done"
    TRY_AGAIN = "try again"
    ASK = "ask the provider"
    HALVE = "halve"
    WAIT_FOR_A_PERSON = "wait for a person"


@dataclass(frozen=True, slots=True)
class Settlement:
    """
    Everything that settling writes.

    `fates` holds the deliveries whose outcome changes, by recipient; whoever is not in it stays as
    it is. What comes next is due `delay_s` from now and, for a look-up of the schedule, not before
    `lookup_after_s` from the beginning of the doubt. `counts_as_try` says whether the deliveries
    that go on waiting have used up one try; `said_absent`, whether a look-up answered “not there”.
    `new_setbacks` counts put-offs of any kind in a row, `new_blocked` refusals before the provider.
    `duplicates` holds further acceptances of deliveries that are in `fates` already.
    """

    fates: Mapping[int, Fate]
    next: Next
    delay_s: float = 0.0
    lookup_after_s: float = 0.0
    counts_as_try: bool = False
    reason: str = ""
    stop_edition: str = ""
    said_absent: bool = False
    new_setbacks: int = 0
    new_blocked: int = 0
    duplicates: Mapping[int, Sequence[Sent]] = field(default_factory=dict)
