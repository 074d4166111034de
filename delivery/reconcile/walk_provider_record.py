"""Ask the provider about the copies of an edition, with retries."""

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from delivery.provider.check_mail import send_check_mail
from delivery.provider.deadline_clock import now_s
from delivery.provider.from_settings import policy_from_settings
from delivery.provider.provider_protocol import Answer, Provider
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import FoundMessage, SearchFailed
from delivery.rules.reason import Reason

logger = logging.getLogger(__name__)

MAX_TRIES = 6


class SearchUnavailableError(Exception):
    """The search failed `tries` times in a row, the last time for this reason."""

    def __init__(self, tries: int, reason: Reason) -> None:
        super().__init__(f"the search failed {tries} times in a row; last error: {reason}")
        self.tries = tries
        self.reason = reason


class PatientSearch:
    """The provider's search on one stream, with retries."""

    def __init__(self, provider: Provider, stream: str) -> None:
        self._provider = provider
        self._stream = stream
        self._policy = policy_from_settings()

    def walk(
        self, tag: str, first: datetime, last: datetime
    ) -> Iterator[tuple[Sequence[FoundMessage], int]]:
        """Yield all messages with this tag, sent between the two times, with their number.

        A message can occur twice. Raises `SearchUnavailableError`.
        """
        return self._provider.walk(tag, stream=self._stream, first=first, last=last, ask=self._ask)

    def about(self, field_name: str, value: str) -> Sequence[FoundMessage]:
        """Find all messages with this metadata. Raises `SearchUnavailableError`."""
        search = partial(self._provider.search, field_name, value, stream=self._stream)
        return self._ask(lambda deadline_at_s: search(deadline_at_s=deadline_at_s)).found

    def send_check_mail(self, edition: int, now: datetime) -> uuid.UUID | None:
        """Send a check mail; return its attempt, or None if it is not accepted."""
        deadline_at_s = now_s() + self._provider.deadline_s
        return send_check_mail(self._provider, edition, now=now, deadline_at_s=deadline_at_s)

    def _ask(self, ask: Callable[[float], Answer | SearchFailed]) -> Answer:
        tries = 0
        while True:
            answer = ask(now_s() + self._provider.deadline_s)
            if not isinstance(answer, SearchFailed):
                return answer
            tries += 1
            if tries == MAX_TRIES:
                raise SearchUnavailableError(tries, answer.reason)
            logger.warning("the search failed and is repeated: %s", answer.reason)
            delay_s = after_call_or_lookup.delay_after(tries - 1, random.random(), self._policy)
            time.sleep(max(delay_s, answer.retry_after_s or 0.0))
