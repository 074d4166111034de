"""The outcome of each delivery, and all values that settling a batch writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from delivery.rules.reason import Reason, ReasonCode

INACTIVE = Reason.of(ReasonCode.INACTIVE_RECIPIENT)


@dataclass(frozen=True, slots=True)
class WithReason:
    """The base of outcomes and results that have a reason."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Sent:
    """The provider accepted the copy; `at` is by the provider's clock, or None."""

    message_id: str
    at: datetime | None


class Suppressed(WithReason):
    """The copy must not be sent: suppressed by us, or inactive at the provider (406)."""


class Withdrawn(WithReason):
    """The reader unsubscribed before the copy was sent."""


@dataclass(frozen=True, slots=True)
class Failed:
    """All tries failed, the copy is parked, or its address was `refused` permanently."""

    reason: Reason
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """The copy may have been accepted.

    The provider is asked about the copy before the copy is sent again.
    """


@dataclass(frozen=True, slots=True)
class Waiting:
    """The copy was provably not accepted and waits for its next try."""


Outcome = Sent | Suppressed | Withdrawn | Failed | Unknown | Waiting


def is_inactive(outcome: Outcome) -> bool:
    """Whether the provider refused the copy because it suppresses the address (406)."""
    return isinstance(outcome, Suppressed) and outcome.reason == INACTIVE


@dataclass(frozen=True, slots=True, eq=False)
class AllSent(Mapping[int, Sent]):
    """The outcome `Sent` for each of these recipients, in columns.

    A call has hundreds of copies and almost always sends all of them. So the outcome of a single
    copy is created only when it is read.
    """

    recipients: Sequence[int]
    message_ids: Sequence[str]
    times: Sequence[datetime | None]

    def __getitem__(self, recipient: int) -> Sent:
        if recipient not in self.recipients:
            raise KeyError(recipient)
        place = self.recipients.index(recipient)
        return Sent(self.message_ids[place], self.times[place])

    def __iter__(self) -> Iterator[int]:
        return iter(self.recipients)

    def __len__(self) -> int:
        return len(self.recipients)

    @classmethod
    def among(cls, outcomes: Mapping[int, Outcome]) -> AllSent:
        """Return the sent deliveries among these outcomes."""
        if isinstance(outcomes, cls):
            return outcomes
        sent = {who: one for who, one in outcomes.items() if isinstance(one, Sent)}
        found = sent.values()
        return cls(list(sent), [one.message_id for one in found], [one.at for one in found])


class Next(StrEnum):
    """The next step of a batch after its call or look-up."""

    DONE = "done"
    TRY_AGAIN = "try again"
    LOOK_UP = "look up"
    HALVE = "halve"
    WAIT_FOR_DECISION = "wait for a decision"


@dataclass(frozen=True, slots=True)
class Settlement:
    """All values that settling a batch writes.

    `outcomes` holds the deliveries whose outcome changes, by recipient. The next step is due in
    `delay_s` seconds. A scheduled look-up also waits until the attempt has been unknown for
    `lookup_after_s` seconds. `counts_as_try`: the waiting deliveries have used up one try.
    `confirmed_absent`: a look-up answered “not there”. `new_deferrals` is the new number of
    deferrals in a row, and `new_blocked` the new number of refusals by a proxy in a row.
    `duplicates` holds further acceptances of the same copies.
    """

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
