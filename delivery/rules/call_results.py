"""
What the provider's answer to one call means, as values. Pure: no clock, no database, no network.

The words say what must be done next, not what code came back; `responses.py` turns answers
into them, `retries.py` decides from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

# --- One message ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider has it. `at` is the provider's time, if it named one."""

    message_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Inactive:
    """The provider will not mail this address (code 406): it bounced, complained or left."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """This address can never be mailed."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotNow:
    """The provider judged this message and did not take it for the moment (`too_fast`: 429)."""

    reason: str
    too_fast: bool = False


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Nothing usable was said about this message: it may or may not have been accepted."""

    reason: str


@dataclass(frozen=True, slots=True)
class Fault:
    """
    The account, a setting or the content is refused: every other copy would be refused as well.

    `reason` is one sentence that quotes the provider; `remedy` says what a person should do.
    """

    reason: str
    remedy: str


MessageResult = Accepted | Inactive | Refused | NotNow | Unanswered | Fault

# --- The whole call ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer for each message, in the order they were sent."""

    messages: Sequence[MessageResult]


@dataclass(frozen=True, slots=True)
class NotSent:
    """The call provably never reached the provider: no connection, or no time left to start."""

    reason: str


@dataclass(frozen=True, slots=True)
class PutOff:
    """
    The provider refused the call as a whole for the moment: because calls came too fast (429), or
    because it is under maintenance, which says nothing about the pace.
    """

    reason: str
    retry_after_s: float | None = None
    too_fast: bool = False


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something before the provider refused the call (403 without its error code)."""

    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The call held too much; half of it may pass."""

    reason: str


@dataclass(frozen=True, slots=True)
class CallFault:
    """The whole call was refused for a reason that every other call would meet."""

    fault: Fault


@dataclass(frozen=True, slots=True)
class CallUnanswered:
    """The call left, or may have, and no usable answer came back."""

    reason: str


CallResult = Answered | NotSent | PutOff | Blocked | TooLarge | CallFault | CallUnanswered


def was_too_fast(answer: CallResult) -> bool:
    """Whether the provider asked for a slower pace, for the call or for any message of it."""
    match answer:
        case PutOff():
            return answer.too_fast
        case Answered(messages):
            return any(isinstance(message, NotNow) and message.too_fast for message in messages)
        case _:
            return False


# --- What a look-up found ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """A message that the provider has: evidence that it was accepted."""

    delivery: str
    message_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The search answered. What it does not list it does not (yet) have."""

    found: Sequence[Found]


@dataclass(frozen=True, slots=True)
class NoInformation:
    """The search failed or was refused: that says nothing about the messages."""

    reason: str
    retry_after_s: float | None = None


LookupResult = LookedUp | NoInformation


# --- What the provider's record of an edition lists -------------------------------------------


@dataclass(frozen=True, slots=True)
class Listed:
    """
    One message of a page. `delivery` is what its metadata names, empty if it names none; `attempt`
    likewise.
    """

    delivery: str
    message_id: str
    at: datetime | None
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a search that answered: its messages, and how many the whole search has."""

    messages: Sequence[Listed]
    total: int
