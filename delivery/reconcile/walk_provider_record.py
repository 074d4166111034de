"""Read all messages that the provider shows under one tag, by page, with retries."""

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from delivery.postmark.check_mail import send_check_mail
from delivery.postmark.classify_responses import MESSAGES
from delivery.postmark.client import MAX_SEARCH_RESULTS, PAGE_SIZE, Postmark, now_s
from delivery.postmark.search_windows import Span, Window, split_window
from delivery.retry_policy_and_client import policy_from_settings
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import FoundMessage, MessagePage, SearchAnswered, SearchFailed
from delivery.rules.reason import Reason

logger = logging.getLogger(__name__)

MAX_TRIES = 6

Answer = TypeVar("Answer", MessagePage, SearchAnswered)


class SearchUnavailableError(Exception):
    """The search failed `tries` times in a row, the last time for this reason."""

    def __init__(self, tries: int, reason: Reason) -> None:
        super().__init__(f"the search failed {tries} times in a row; last error: {reason}")
        self.tries = tries
        self.reason = reason


class PatientSearch:
    """The provider's search on one stream, with retries."""

    def __init__(self, postmark: Postmark, stream: str) -> None:
        self._postmark = postmark
        self._stream = stream
        self._policy = policy_from_settings()

    def page(self, filters: Mapping[str, str], offset: int) -> MessagePage:
        """Read one page. Raises `SearchUnavailableError`."""
        return self._ask(partial(self._postmark.page, MESSAGES, filters, offset=offset))

    def about(self, field_name: str, value: str) -> Sequence[FoundMessage]:
        """Find all messages with this metadata. Raises `SearchUnavailableError`."""
        return self._ask(partial(self._postmark.search, field_name, value)).found

    def send_check_mail(self, edition: int, now: datetime) -> uuid.UUID | None:
        """Send a check mail; return its attempt, or None if it is not accepted."""
        deadline_at_s = now_s() + self._postmark.deadline_s
        return send_check_mail(self._postmark, edition, now=now, deadline_at_s=deadline_at_s)

    def _ask(self, ask: Callable[..., Answer | SearchFailed]) -> Answer:
        tries = 0
        while True:
            deadline_at_s = now_s() + self._postmark.deadline_s
            answer = ask(stream=self._stream, deadline_at_s=deadline_at_s)
            if not isinstance(answer, SearchFailed):
                return answer
            tries += 1
            if tries == MAX_TRIES:
                raise SearchUnavailableError(tries, answer.reason)
            logger.warning("the search failed and is repeated: %s", answer.reason)
            delay_s = after_call_or_lookup.delay_after(tries - 1, random.random(), self._policy)
            time.sleep(max(delay_s, answer.retry_after_s or 0.0))


def iter_pages(
    search: PatientSearch, tag: str, span: Span
) -> Iterator[tuple[list[FoundMessage], int]]:
    """Yield every page of messages with the tag, and the total of the first search.

    If there are too many messages, the search is split into windows of time, the earliest first. A
    message can occur twice.
    """
    whole = search.page({"tag": tag}, 0)
    to_do: list[tuple[Window, MessagePage | None]] = [(Window(), whole)]
    while to_do:
        window, first = to_do.pop()
        filters = {"tag": tag, **window.query()}
        page = first or search.page(filters, 0)
        parts = split_window(window, span) if page.total > MAX_SEARCH_RESULTS else None
        if parts is not None:
            earlier, later = parts
            to_do += [(later, None), (earlier, None)]
            continue
        offset = 0
        while True:
            yield list(page.messages), whole.total
            offset += PAGE_SIZE
            if len(page.messages) < PAGE_SIZE or offset >= MAX_SEARCH_RESULTS:
                break
            page = search.page(filters, offset)
