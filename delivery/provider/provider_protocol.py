"""The questions that Homing asks of a mail provider.

To add a provider, subclass `Provider` and name the class in MAIL_PROVIDER (docs/providers.md). Only
`capabilities` and `send` are required. Each other method belongs to a capability. Homing calls it
only if the provider has that capability.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Literal, NamedTuple, TypeVar

import orjson
from django.core.checks import CheckMessage

from delivery.mail.message_for_reader import Message
from delivery.provider.events import AddressSuppressed, WebhookEvent
from delivery.rules.call_results import (
    CallResult,
    FoundMessage,
    LookupResult,
    MessagePage,
    SearchAnswered,
    SearchFailed,
)
from delivery.rules.reason import Reason

Change = Literal["suppress", "reactivate"]
Answer = TypeVar("Answer", MessagePage, SearchAnswered)
# Asks a question with a deadline (a time of `now_s()`), again and again until it is answered.
Ask = Callable[[Callable[[float], Answer | SearchFailed]], Answer]

# The fields of a message's metadata by which a provider is asked. A check mail has the last one.
ATTEMPT_FIELD, DELIVERY_FIELD, CHECK_FIELD = "attempt", "delivery", "check"

# A key may expire a little earlier than its provider says.
KEY_MARGIN_S = 60.0

# The subjects of `ReasonCode.QUERY_…`: what a provider was asked.
SEARCH = "search"
BOUNCES = "bounces"
SUPPRESSION_LIST = "suppression_list"
SUPPRESSION_CHANGE = "suppression_change"


class Asks(Enum):
    """How one can ask the provider, after a call without an answer, what it accepted."""

    BY_ATTEMPT = "one search finds all copies of a call"
    BY_COPY = "one search for each copy"
    NEVER = "the provider cannot be asked"


@dataclass(frozen=True, slots=True)
class SenderRecords:
    """The DNS records that the provider wants for the sender's domain.

    `spf` is a domain that the SPF record or the alias at `return_path` must name. `dkim` is the
    name below the sender's domain at which the key may be. `records` are the lines of the page
    Settings, as kind, name below the domain, and value. `page` is the name of the provider's own
    page that shows them.
    """

    spf: str
    return_path: str
    dkim: str
    page: str
    records: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a provider can do, and so what Homing can promise (docs/guarantees.md).

    `name` is its name in sentences. `path` ends the address of its webhooks; without a path it
    sends none. `login_settings` are the names of the settings of `webhook_login`. `webhook_events`
    has the names of the events that a site needs, by their key. `largest_batch` is the number of
    messages in a call, and `batch` the number by default. `remembers_days`: events and answers
    about a message may come for this time; the operator sets it by `remembers_setting`, if that is
    not empty. `unsubscribe_placeholder` is the text that the provider replaces by its own
    unsubscribe link. `console_url` is the page on which an author signs in to the provider.
    `key_lifetime_s`: within this time, a message with the same delivery and attempt in its metadata
    leaves only once, whatever other messages `send` gets with it; the answer says again what was
    accepted, with the same id. If the provider refuses a changed body, the message is `Unanswered`.
    Homing repeats a call only if the provider cannot be asked.
    """

    name: str
    asks: Asks
    largest_batch: int
    batch: int
    remembers_days: int
    remembers_setting: str = ""
    path: str = ""
    login_settings: tuple[str, ...] = ()
    webhook_events: Mapping[str, str] = field(default_factory=dict)
    key_lifetime_s: float = 0.0
    has_streams: bool = False
    has_record: bool = False
    has_suppression_list: bool = False
    lists_bounces: bool = False
    unsubscribe_placeholder: str = ""
    console_url: str = ""
    sender_records: SenderRecords | None = None

    @property
    def can_be_asked(self) -> bool:
        """Whether the provider can say what it accepted."""
        return self.asks is not Asks.NEVER

    @property
    def repeats_with_key(self) -> bool:
        """Whether Homing repeats a call without an answer, because nothing leaves twice."""
        return self.key_lifetime_s > 0 and not self.can_be_asked

    @property
    def may_say_more(self) -> bool:
        """Whether something can prove later what a call without an answer sent."""
        return self.can_be_asked or self.repeats_with_key or bool(self.path)

    @property
    def is_polled(self) -> bool:
        """Whether the provider has lists that Homing reads regularly."""
        return self.has_suppression_list or self.lists_bounces


class Judged(NamedTuple):
    """A message by the provider's rules: the bytes of its two parts, and a refusal."""

    html_bytes: int
    text_bytes: int
    refusal: Reason | None


class QueryFailedError(Exception):
    """A provider did not answer a query, or not completely."""

    def __init__(self, reason: Reason, retry_after_s: float | None = None) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.retry_after_s = retry_after_s


class WebhookRefusedError(Exception):
    """The provider's class does not accept a webhook.

    `sentence` is the answer. `detail` is for the log and may name settings. A `status` of 503 makes
    a service send the events again.
    """

    def __init__(self, sentence: str, *, detail: str = "", status: int = 400) -> None:
        super().__init__(sentence)
        self.sentence, self.detail, self.status = sentence, detail or sentence, status


@dataclass(frozen=True, slots=True)
class CheckMail:
    """A mail that reaches nobody, and the address to which it goes."""

    body: bytes
    address: str


def _nothing() -> None:
    pass


class Provider(ABC):
    """A client for one thread. A call takes at most `deadline_s` seconds.

    Class methods answer from the settings, without a call.
    """

    deadline_s: float

    @classmethod
    @abstractmethod
    def capabilities(cls) -> Capabilities:
        """Return what the provider can do with the present settings."""

    @classmethod
    def check_settings(cls) -> Iterable[CheckMessage]:
        """Yield the problems of the provider's settings."""
        return ()

    @classmethod
    def remedy_sentence(cls, remedy: str) -> str:  # noqa: ARG003
        """Return what to do about a `Remedy` at this provider.

        If it is empty, reports/reason_sentences.py has the sentence.
        """
        return ""

    @classmethod
    def shape(cls, message: Message) -> Mapping[str, Any]:
        """Return a message as the value that `send` gets as one item of its JSON array.

        The texts of the message hold marks in place of each reader's values. Each mark must stay as
        it is, once or several times.
        """
        return message.as_json()

    @classmethod
    def judge(cls, call: bytes) -> Iterator[Judged]:
        """Judge each message of a call by the provider's rules, without a call."""
        for message in orjson.loads(call):
            yield Judged(len(message["html"].encode()), len(message["text"].encode()), None)

    @abstractmethod
    def send(
        self,
        body: bytes,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None] = _nothing,
    ) -> CallResult:
        """Send the messages of `body` to `addresses`, in the same order. Never try twice.

        `body` is a JSON array of values of `shape`. After `deadline_at_s`, a time of `now_s()`,
        nothing may be written. Call `about_to_complete` once, just before the provider can have
        received a first message completely; if it raises an error, end the call. The result says of
        each message what is certain: a message that may have been accepted is `Unanswered`.
        """

    def close(self) -> None:  # noqa: B027 -- many providers keep no connection
        """Close the connection, if there is one. The next call opens it again."""

    # If `can_be_asked`.

    def search(
        self, field_name: str, value: str, *, stream: str, deadline_at_s: float
    ) -> LookupResult:
        """Find all messages on `stream` whose metadata `field_name` is `value`."""
        raise NotImplementedError

    def sent_headers(
        self, message_id: str, *, deadline_at_s: float
    ) -> Mapping[str, str] | SearchFailed | None:
        """Read the headers of a message as it was sent, by their names in lower case.

        The values of a header that occurs several times are joined by a comma. None if the provider
        cannot show headers. Only `manage.py verify_provider` asks.
        """
        return None

    def check_mail(self, sender: str, stream: str, check: str) -> CheckMail | None:
        """Return a mail that reaches nobody, with `check` as its metadata CHECK_FIELD.

        Such a mail shows whether the search is up to date. None if the provider has no address for
        it.
        """
        return None

    # If `has_record`.

    def walk(
        self, tag: str, *, stream: str, first: datetime, last: datetime, ask: Ask[MessagePage]
    ) -> Iterator[tuple[Sequence[FoundMessage], int]]:
        """Yield all messages with this tag, by page, with their number.

        They were sent between `first` and `last`. A message may occur twice. `ask` repeats a
        question until it is answered.
        """
        raise NotImplementedError

    # If `lists_bounces` or `has_suppression_list`. All raise `QueryFailedError`.

    def bounces(self, stream: str, *, since: datetime, call_s: float) -> Iterator[Sequence[bytes]]:
        """Yield the bounces and complaints since then, as bodies of events, in chunks."""
        raise NotImplementedError

    def suppressions(
        self, stream: str, *, since: datetime | None, keep_on: Callable[[], None]
    ) -> Iterator[Sequence[tuple[AddressSuppressed, bytes]]]:
        """Yield the entries of the suppression list since then.

        Each entry has its body as an event. `keep_on` is called again and again while the list is
        read. An error of it ends the call.
        """
        raise NotImplementedError

    def change_suppressions(
        self, change: Change, stream: str, addresses: Sequence[str], *, deadline_at_s: float
    ) -> Mapping[str, str] | SearchFailed:
        """Change the suppressions of at most 50 addresses.

        Returns each address, case-folded, with the reason why its change was refused, or an empty
        reason.
        """
        raise NotImplementedError

    # If `unsubscribe_placeholder`.

    def find_unsubscribe_problem(self) -> Reason | None:
        """Compare who handles unsubscribes at the provider with the setting of this site."""
        return None

    # If `path`.

    @classmethod
    def webhook_login(cls) -> str:
        """Return `user:password` of webhooks; empty if the operator did not set both."""
        return ""

    @classmethod
    def split_webhook(
        cls,
        body: bytes,
        environ: Mapping[str, Any],  # noqa: ARG003
    ) -> Sequence[tuple[bytes, str | None]]:
        """Return the body of each event in a request, as it is stored.

        With it goes the id that the retries of this event share, or None. `environ` has the
        request's headers and its URL, as `HttpRequest.META` has them. Raises `WebhookRefusedError`.
        """
        return [(body, None)]

    @classmethod
    def parse_webhook(cls, body: bytes) -> WebhookEvent:
        """Read one event. An event that is not understood has the kind ""."""
        raise NotImplementedError
