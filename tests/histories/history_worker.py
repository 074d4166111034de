"""The real worker step with a client that checks its calls and can be lost."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import orjson

from delivery.models import Attempt
from delivery.postmark.client import Postmark
from delivery.postmark.postmark_provider import CHECK_MAIL_ADDRESS, PostmarkProvider
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import AllAccepted, Answered, CallResult, LookupResult
from delivery.rules.outcomes import Failed, Suppressed
from delivery.worker.step import Dispatcher
from postmark_sandbox.sandbox_state import Sandbox
from tests.histories.drawn_faults import OF_A_CALL, LossPoint

DEADLINE_S = 20.0
LEASE_S = 60.0
LOOKUP_AFTER_S = (60.0, 300.0, 900.0)


class LostError(BaseException):
    """The worker was lost here: none of its code runs any more."""


class Facts(Protocol):
    """The facts that a history knows about its calls."""

    judged: dict[str, set[str]]

    def forbids(self, keys: Collection[str]) -> str:
        """Return why a call with these copies must not begin, or an empty string."""


class HistoryWorker:
    """One worker of a history. If the worker is lost, another worker replaces it."""

    def __init__(self, sandbox: Sandbox, url: str, facts: Facts, *, resends: bool) -> None:
        self._policy = after_call_or_lookup.Policy(
            retry_base_s=60.0,
            retry_cap_s=900.0,
            max_tries=4,
            lookup_after_s=LOOKUP_AFTER_S,
            resend_when_absent=resends,
        )
        self._client = CheckedClient(sandbox, url, facts)
        self._begin()

    def _begin(self) -> None:
        self._dispatcher = Dispatcher(
            uuid.uuid4(), self._client, policy=self._policy, jitter=lambda: 0.5
        )

    def step(self, fault: str = "", lost_at: LossPoint | None = None) -> bool:
        """Do one due look-up or call. Return False if nothing was due."""
        self._client.fault, self._client.lost_at = fault, lost_at
        try:
            return self._dispatcher.step(self._is_stopping)
        except LostError:
            self._client.close()
            self._begin()
            return True

    def _is_stopping(self) -> bool:
        self._client.may_be_lost(LossPoint.CLAIMED)
        return False


class CheckedClient(PostmarkProvider):
    """The real client, with a check before every call."""

    def __init__(self, sandbox: Sandbox, url: str, facts: Facts) -> None:
        Postmark.__init__(self, url, "sandbox", deadline_s=DEADLINE_S)
        self._sandbox, self._facts = sandbox, facts
        self.fault = ""
        self.lost_at: LossPoint | None = None

    def may_be_lost(self, here: LossPoint) -> None:
        """Lose the worker here, if the history has chosen this point."""
        if self.lost_at is here:
            raise LostError

    def send(self, body: bytes, addresses: Sequence[str], **more: Any) -> CallResult:
        if addresses == [CHECK_MAIL_ADDRESS]:
            return super().send(body, addresses, **more)
        metadata: list[Mapping[str, str]] = [item["Metadata"] for item in orjson.loads(body)]
        keys = [one["delivery"] for one in metadata]
        (attempt,) = {one["attempt"] for one in metadata}
        assert Attempt.objects.filter(pk=uuid.UUID(hex=attempt)).exists(), "no record of the call"
        assert not (why := self._facts.forbids(keys)), why
        self.may_be_lost(LossPoint.STARTED)
        rule = None
        if self.fault:
            kind, settings = OF_A_CALL[self.fault]
            rule = self._sandbox.set_fault(kind, **settings)
        try:
            answer = super().send(body, addresses, **more)
        finally:
            if rule is not None:
                self._sandbox.faults.clear(rule.id)
        if isinstance(answer, AllAccepted | Answered):
            for key, message in zip(keys, answer.messages, strict=True):
                if isinstance(message, Suppressed | Failed):
                    self._facts.judged.setdefault(key, set()).add(type(message).__name__)
        self.may_be_lost(LossPoint.ANSWERED)
        return answer

    def search(self, *question: Any, **more: Any) -> LookupResult:
        self.may_be_lost(LossPoint.ASKS)
        answer = super().search(*question, **more)
        self.may_be_lost(LossPoint.ASKED)
        return answer
