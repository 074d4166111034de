"""What the provider's answer to a call or a look-up means, as values. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from delivery.rules.outcomes import Failed, Sent, Suppressed, WithReason
from delivery.rules.reason import Reason


@dataclass(frozen=True, slots=True)
class Deferred:
    """The provider did not take this message, or the whole call, for the moment: too fast (429), or
    under maintenance."""

    reason: Reason
    retry_after_s: float | None = None
    too_fast: bool = False


class Unanswered(WithReason):
    """No usable answer came for a message or a whole call: it may have been accepted."""


class RejectedForAll(WithReason):
    """The account, a setting or the content is refused, so every other message would be as well."""


MessageResult = Sent | Suppressed | Failed | Deferred | Unanswered | RejectedForAll


@dataclass(frozen=True, slots=True)
class Answered:
    """One result for each message, in the order they were sent."""

    messages: Sequence[MessageResult]


class NotSent(WithReason):
    """The call provably never reached the provider: no connection, or no time left to start."""


class RefusedByProxy(WithReason):
    """Something before the provider refused the call (403 without its error code)."""


class TooLarge(WithReason):
    """The call held too much; half of it may pass."""


CallResult = Answered | NotSent | Deferred | RefusedByProxy | TooLarge | RejectedForAll | Unanswered


def was_too_fast(result: CallResult) -> bool:
    """Whether the provider asked for a lower rate, for the call or for any message of it."""
    results = [result, *result.messages] if isinstance(result, Answered) else [result]
    return any(isinstance(one, Deferred) and one.too_fast for one in results)


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that the provider has: evidence that it was accepted. `delivery` and `attempt` are
    what its metadata names, or empty."""

    delivery: str
    message_id: str
    at: datetime | None
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class SearchAnswered:
    """The search answered. What it does not list it does not (yet) have."""

    found: Sequence[FoundMessage]


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """The search failed or was refused: that says nothing about the messages."""

    reason: Reason
    retry_after_s: float | None = None


LookupResult = SearchAnswered | SearchFailed


@dataclass(frozen=True, slots=True)
class MessagePage:
    """A page of a search that answered: its messages, and how many the whole search has."""

    messages: Sequence[FoundMessage]
    total: int
