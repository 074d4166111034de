"""Ask the provider, with real mail, what Homing's promise assumes.

The mails belong to no delivery: their key is the issue of test letters with a number that no test
letter has. An event about them changes nothing.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parseaddr
from enum import Enum, StrEnum
from typing import Any

import orjson
from django.conf import settings
from django.db.models import Max

from delivery.mail.mark_test_letter import TEST_ISSUE, mark_subject
from delivery.mail.message_for_reader import ONE_CLICK, Message
from delivery.mail.transactional_mail_texts import provider_tag
from delivery.models import ProviderEvent
from delivery.provider.deadline_clock import now_s
from delivery.provider.events import Delivered
from delivery.provider.provider_protocol import (
    ATTEMPT_FIELD,
    CHECK_FIELD,
    DELIVERY_FIELD,
    Asks,
    CheckMail,
    Provider,
)
from delivery.rules.call_results import AllAccepted, Answered, CallResult, SearchFailed
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Failed, Sent, Suppressed
from delivery.rules.reason import Reason

MESSAGES = 3
# Every provider refuses an address with two @ signs.
BAD_ADDRESS = "verify@@example.invalid"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
ANY_VALUE = ""


class Question(StrEnum):
    """A question to the provider, in the order of the report."""

    BATCH = "batch"
    ORDER = "order"
    BY_ATTEMPT = "by_attempt"
    BY_DELIVERY = "by_delivery"
    BAD_ADDRESS = "bad_address"
    HEADERS = "headers"
    EVENTS = "events"
    CHECK_MAIL = "check_mail"
    REPETITION = "repetition"


class Verdict(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    NOT_RELEVANT = "not relevant"


class Seen(Enum):
    """The kind of an observation, with its verdict and whether waiting can change it."""

    ACCEPTED = (1, Verdict.HOLDS)
    ORDER_SAME = (2, Verdict.HOLDS)
    FOUND = (3, Verdict.HOLDS)
    ONE_REFUSED = (4, Verdict.HOLDS)
    HEADERS_KEPT = (5, Verdict.HOLDS)
    EVENTS_CAME = (6, Verdict.HOLDS)
    ORDER_DIFFERS = (7, Verdict.FAILS)
    OTHERS_REFUSED = (8, Verdict.FAILS)
    BAD_ACCEPTED = (9, Verdict.FAILS)
    HEADERS_CHANGED = (10, Verdict.FAILS)
    NOT_ACCEPTED = (11, Verdict.FAILS)
    SOME_FOUND = (12, Verdict.FAILS, True)
    NO_ANSWER = (13, Verdict.FAILS, True)
    EVENTS_MISSING = (14, Verdict.FAILS, True)
    CANNOT_BE_ASKED = (15, Verdict.NOT_RELEVANT)
    ASKED_BY_COPY = (16, Verdict.NOT_RELEVANT)
    NO_BAD_ADDRESS = (17, Verdict.NOT_RELEVANT)
    SHOWS_NO_HEADERS = (18, Verdict.NOT_RELEVANT)
    NO_WEBHOOKS = (19, Verdict.NOT_RELEVANT)
    NO_WEBHOOK_LOGIN = (20, Verdict.NOT_RELEVANT)
    REACHES_NOBODY = (21, Verdict.NOT_RELEVANT)
    NO_CHECK_MAIL = (22, Verdict.NOT_RELEVANT)
    ANSWERED_AGAIN = (23, Verdict.HOLDS)
    SENT_AGAIN = (24, Verdict.FAILS)
    TAKES_NO_KEY = (25, Verdict.NOT_RELEVANT)

    def __init__(self, number: int, verdict: Verdict, may_change: bool = False) -> None:
        self.verdict = verdict
        self.may_change = may_change


@dataclass(frozen=True, slots=True)
class Observation:
    """One answer, with the numbers and names of its sentence."""

    question: Question
    seen: Seen
    params: Mapping[str, Any] = field(default_factory=dict)
    reason: Reason | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the assumption holds."""
        return self.seen.verdict


class NotAcceptedError(Exception):
    """The provider did not accept the first messages, so nothing can be asked."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def judge_bad_address(result: CallResult) -> Observation:
    """Judge a call with a good address, a bad address and a good address."""
    about = Question.BAD_ADDRESS
    if not isinstance(result, AllAccepted | Answered):
        return Observation(about, Seen.OTHERS_REFUSED, reason=result.reason)
    first, bad, last = result.messages
    for good in (first, last):
        if not isinstance(good, Sent):
            return Observation(about, Seen.OTHERS_REFUSED, reason=good.reason)
    is_refused = isinstance(bad, Suppressed) or (isinstance(bad, Failed) and bad.refused)
    if is_refused:
        return Observation(about, Seen.ONE_REFUSED)
    return Observation(about, Seen.BAD_ACCEPTED, reason=getattr(bad, "reason", None))


def judge_order(sent: Mapping[str, str], found: Mapping[str, str]) -> Seen:
    """Compare the ids of the call's results with the ids that the search shows."""
    return Seen.ORDER_SAME if sent == found else Seen.ORDER_DIFFERS


def judge_headers(wanted: Mapping[str, str], found: Mapping[str, str]) -> Observation:
    """Compare headers; `ANY_VALUE` fits every value, but not a missing header."""
    changed = [
        name
        for name, value in wanted.items()
        if name.lower() not in found or value not in (ANY_VALUE, found[name.lower()])
    ]
    seen = Seen.HEADERS_CHANGED if changed else Seen.HEADERS_KEPT
    return Observation(Question.HEADERS, seen, {"names": ", ".join(changed or wanted)})


class Inquiry:
    """The questions to one provider. `number` is a number that no test letter has.

    `bad_address` is None for the default. Waits for at most `wait_s` seconds after the last call.
    """

    def __init__(
        self, provider: Provider, sender: str, number: int, to: str, bad_address: str | None
    ) -> None:
        self._provider = provider
        self._can = provider.capabilities()
        self._sender, self._number, self._to = sender, number, to
        default = BAD_ADDRESS if self._can.can_be_asked else None
        self._bad_address = bad_address or default
        self._stream = settings.BROADCAST_STREAM
        self._attempt, self._check = uuid.uuid4(), uuid.uuid4()
        self._last_event = ProviderEvent.objects.aggregate(last=Max("pk"))["last"] or 0
        self._check_mail = self._mail_of_check()
        self._is_check_sent = False
        # The ids of the first call's results, and the ids that the search shows.
        self._sent: dict[str, str] = {}
        self._found: dict[str, str] = {}
        self._start_s = 0.0

    def ask(self, wait_s: float) -> list[Observation]:
        """Send the mails and answer every question. Raises `NotAcceptedError`."""
        answers = {one.question: one for one in self._send()}
        open_questions = self._questions()
        end_s, pause_s = now_s() + wait_s, FIRST_PAUSE_S
        while True:
            for question, look in list(open_questions.items()):
                answers[question] = found = look()
                if not found.seen.may_change:
                    del open_questions[question]
            left_s = end_s - now_s()
            if not open_questions or left_s <= 0:
                return [answers[question] for question in Question]
            time.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)

    def _send(self) -> Iterator[Observation]:
        result = self._call([self._to] * MESSAGES, 1, self._attempt)
        self._start_s = now_s()
        if not isinstance(result, AllAccepted | Answered):
            raise NotAcceptedError(result.reason)
        for number, message in enumerate(result.messages, 1):
            if not isinstance(message, Sent):
                raise NotAcceptedError(message.reason)
            self._sent[self._key(number)] = message.message_id
        yield Observation(Question.BATCH, Seen.ACCEPTED, {"n": MESSAGES})
        yield self._repeat()
        if self._bad_address is None:
            yield Observation(Question.BAD_ADDRESS, Seen.NO_BAD_ADDRESS)
        else:
            addresses = [self._to, self._bad_address, self._to]
            yield judge_bad_address(self._call(addresses, MESSAGES + 1, uuid.uuid4()))
        if self._check_mail is None:
            yield Observation(Question.CHECK_MAIL, Seen.NO_CHECK_MAIL)
            return
        mail = self._check_mail
        sent = self._provider.send(mail.body, [mail.address], deadline_at_s=self._deadline_s())
        results = sent.messages if isinstance(sent, AllAccepted | Answered) else [sent]
        for one in results:
            if isinstance(one, Sent):
                self._is_check_sent = True
            else:
                yield Observation(Question.CHECK_MAIL, Seen.NOT_ACCEPTED, reason=one.reason)

    def _repeat(self) -> Observation:
        """Make the first call again, with its keys."""
        if not self._can.repeats_with_key:
            return Observation(Question.REPETITION, Seen.TAKES_NO_KEY)
        result = self._call([self._to] * MESSAGES, 1, self._attempt)
        if not isinstance(result, AllAccepted):
            return Observation(Question.REPETITION, Seen.NOT_ACCEPTED)
        is_same = list(result.message_ids) == list(self._sent.values())
        seen = Seen.ANSWERED_AGAIN if is_same else Seen.SENT_AGAIN
        return Observation(Question.REPETITION, seen, {"n": MESSAGES, "twice": 2 * MESSAGES})

    def _questions(self) -> dict[Question, Callable[[], Observation]]:
        """Return the questions that are left after the calls, in the order to ask."""
        asked = {
            Question.BY_DELIVERY: self._look_by_delivery,
            Question.ORDER: self._look_at_order,
            Question.BY_ATTEMPT: self._look_by_attempt,
            Question.HEADERS: self._look_at_headers,
            Question.EVENTS: self._look_at_events,
        }
        if self._is_check_sent:
            asked[Question.CHECK_MAIL] = self._look_for_check_mail
        return asked

    def _mail_of_check(self) -> CheckMail | None:
        if not self._can.can_be_asked:
            return None
        return self._provider.check_mail(self._sender, self._stream, self._check.hex)

    def _call(self, addresses: Sequence[str], first: int, attempt: uuid.UUID) -> CallResult:
        messages = [self._message(n, one, attempt) for n, one in enumerate(addresses, first)]
        body = orjson.dumps([dict(self._provider.shape(one)) for one in messages])
        return self._provider.send(body, addresses, deadline_at_s=self._deadline_s())

    def _message(self, number: int, address: str, attempt: uuid.UUID) -> Message:
        key = self._key(number)
        # A provider that handles unsubscribes sets its own headers for them.
        headers = {name: value for name, value in self._headers(key).items() if value}
        return Message(
            sender=self._sender,
            to=address,
            reply_to="",
            subject=mark_subject("homing-verify-provider"),
            html="",
            text=f"homing-verify-provider {self._can.unsubscribe_placeholder}".strip(),
            tag=provider_tag(TEST_ISSUE),
            stream=self._stream,
            metadata={DELIVERY_FIELD: key, ATTEMPT_FIELD: attempt.hex},
            headers=list(headers.items()),
        )

    def _headers(self, key: str) -> dict[str, str]:
        domain = parseaddr(self._sender)[1].rpartition("@")[2] or "localhost"
        link, one_click = f"<{settings.SITE_URL}/verify-provider/>", ONE_CLICK[1]
        if self._can.unsubscribe_placeholder:
            link = one_click = ANY_VALUE
        return {
            "Message-ID": f"<{key}@{domain}>",
            "List-Unsubscribe": link,
            ONE_CLICK[0]: one_click,
        }

    def _key(self, number: int) -> str:
        return str(DeliveryKey(TEST_ISSUE, self._number, number))

    def _deadline_s(self) -> float:
        return now_s() + self._provider.deadline_s

    def _search(
        self, question: Question, name: str, value: str, wanted: int
    ) -> tuple[Observation, dict[str, str]]:
        """Return what a search shows, and the ids that it shows by delivery."""
        if not self._can.can_be_asked:
            return Observation(question, Seen.CANNOT_BE_ASKED), {}
        answer = self._provider.search(
            name, value, stream=self._stream, deadline_at_s=self._deadline_s()
        )
        if isinstance(answer, SearchFailed):
            return Observation(question, Seen.NO_ANSWER, reason=answer.reason), {}
        ids = {one.delivery: one.message_id for one in answer.found}
        return self._found_of(question, len(ids), wanted), ids

    def _found_of(self, question: Question, found: int, wanted: int) -> Observation:
        params = {"n": found, "of": wanted, "seconds": now_s() - self._start_s}
        return Observation(question, Seen.FOUND if found == wanted else Seen.SOME_FOUND, params)

    def _look_by_delivery(self) -> Observation:
        for key in self._sent:
            if key not in self._found:
                seen, ids = self._search(Question.BY_DELIVERY, DELIVERY_FIELD, key, 1)
                if seen.seen not in {Seen.FOUND, Seen.SOME_FOUND}:
                    return seen
                self._found |= {found: one for found, one in ids.items() if found == key}
        return self._found_of(Question.BY_DELIVERY, len(self._found), MESSAGES)

    def _look_at_order(self) -> Observation:
        if not self._can.can_be_asked:
            return Observation(Question.ORDER, Seen.CANNOT_BE_ASKED)
        if len(self._found) < MESSAGES:
            return self._found_of(Question.ORDER, len(self._found), MESSAGES)
        return Observation(Question.ORDER, judge_order(self._sent, self._found))

    def _look_by_attempt(self) -> Observation:
        if self._can.asks is Asks.BY_COPY:
            return Observation(Question.BY_ATTEMPT, Seen.ASKED_BY_COPY)
        value = self._attempt.hex
        return self._search(Question.BY_ATTEMPT, ATTEMPT_FIELD, value, MESSAGES)[0]

    def _look_for_check_mail(self) -> Observation:
        return self._search(Question.CHECK_MAIL, CHECK_FIELD, self._check.hex, 1)[0]

    def _look_at_headers(self) -> Observation:
        key, message_id = next(iter(self._sent.items()))
        found = self._provider.sent_headers(message_id, deadline_at_s=self._deadline_s())
        if found is None:
            return Observation(Question.HEADERS, Seen.SHOWS_NO_HEADERS)
        if isinstance(found, SearchFailed):
            return Observation(Question.HEADERS, Seen.NO_ANSWER, reason=found.reason)
        return judge_headers(self._headers(key), found)

    def _look_at_events(self) -> Observation:
        if not self._can.path:
            return Observation(Question.EVENTS, Seen.NO_WEBHOOKS)
        if not self._provider.webhook_login():
            return Observation(Question.EVENTS, Seen.NO_WEBHOOK_LOGIN)
        if self._check_mail is not None and self._to == self._check_mail.address:
            return Observation(Question.EVENTS, Seen.REACHES_NOBODY)
        kinds, delivered = set[str](), set[str]()
        for row in ProviderEvent.objects.filter(pk__gt=self._last_event):
            event = self._provider.parse_webhook(bytes(row.body))
            if event.delivery is None or str(event.delivery) not in self._sent:
                continue
            kinds.add(event.kind)
            if isinstance(event.address_event, Delivered):
                delivered.add(str(event.delivery))
        seen = Seen.EVENTS_CAME if len(delivered) == MESSAGES else Seen.EVENTS_MISSING
        shown = {"kinds": ", ".join(sorted(kinds)) or "–", "n": len(delivered), "of": MESSAGES}
        return Observation(Question.EVENTS, seen, shown | {"seconds": now_s() - self._start_s})
