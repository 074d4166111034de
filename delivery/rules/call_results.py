"""The provider's answers to calls and look-ups, as values."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from delivery.rules.outcomes import Failed, Sent, Suppressed, WithReason
from delivery.rules.reason import Reason


@dataclass(frozen=True, slots=True)
class Deferred:
    """The provider deferred this message or the call: too many calls, or maintenance."""

    reason: Reason
    retry_after_s: float | None = None
    too_fast: bool = False


class Unanswered(WithReason):
    """A message or call without a usable answer: the mail may have been accepted."""


class NotTried(WithReason):
    """A message that did not leave: the connection or the time ended before."""


class RejectedForAll(WithReason):
    """A refusal of the account, a setting or the content, which affects every message."""


MessageResult = Sent | Suppressed | Failed | Deferred | NotTried | Unanswered | RejectedForAll


@dataclass(frozen=True, slots=True)
class Answered:
    """One result for each message, in the order they were sent."""

    messages: Sequence[MessageResult]


@dataclass(frozen=True, slots=True)
class AllAccepted:
    """Every message was accepted.

    The provider's ids and times are in the order the messages were sent.
    """

    message_ids: Sequence[str]
    times: Sequence[datetime | None]

    @property
    def messages(self) -> Sequence[Sent]:
        """The acceptances as one result for each message."""
        return [*map(Sent, self.message_ids, self.times)]


class NotSent(WithReason):
    """The call provably never reached the provider.

    There was no connection, or no time left to start.
    """


class RefusedByProxy(WithReason):
    """A proxy in front of the provider refused the call (403 without an error code)."""


class TooLarge(WithReason):
    """The call was too large. A call with half of these messages may be accepted."""


CallResult = (
    AllAccepted
    | Answered
    | NotSent
    | Deferred
    | RefusedByProxy
    | TooLarge
    | RejectedForAll
    | Unanswered
)


def was_too_fast(result: CallResult) -> bool:
    """Whether the provider asked for a lower rate for the call or one of its messages."""
    results = [result, *result.messages] if isinstance(result, Answered) else [result]
    return any(isinstance(one, Deferred) and one.too_fast for one in results)


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that the provider has: evidence that it was accepted.

    `delivery` and `attempt` come from its metadata, or are empty.
    """

    delivery: str
    message_id: str
    at: datetime | None
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class SearchAnswered:
    """The search answered.

    If a message is not listed, the provider may simply not have indexed it yet.
    """

    found: Sequence[FoundMessage]


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """The search failed or was refused, which proves nothing about the messages."""

    reason: Reason
    retry_after_s: float | None = None


LookupResult = SearchAnswered | SearchFailed


class LaterMail(Enum):
    """Whether a search shows mail that was accepted on the stream after the call.

    A search that shows later mail also shows earlier mail. If the search shows no later mail, an
    empty result about the call proves nothing.
    """

    NONE = auto()  # Nothing was accepted later.
    HIDDEN = auto()
    CHECK_MAIL_HIDDEN = auto()  # Only check mail came later; the search hides it.
    SHOWN = auto()


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of a search: its messages, and how many messages the search found."""

    messages: Sequence[FoundMessage]
    total: int
