"""Capture the messages of a view until its work is committed.

If the commit fails, no message may be shown.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.messages.storage.base import BaseStorage, Message
from django.http import HttpRequest, HttpResponse


class CapturingStorage(BaseStorage):
    """A Django message storage that is in use only while one view does its work."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self._unread: tuple[Message, ...] = ()

    def _get(self, *args: Any, **kwargs: Any) -> tuple[list[Message], bool]:
        # The page must not show older messages, because they would be saved with the page.
        return [], True

    def _store(
        self, messages: Iterable[Message], response: HttpResponse, *args: Any, **kwargs: Any
    ) -> list[Message]:
        self._unread = tuple(messages)
        return []

    def unread(self, response: HttpResponse) -> tuple[Message, ...]:
        """Return the messages that the response has not shown, in order."""
        self.update(response)
        return self._unread


@contextmanager
def capture_messages(request: HttpRequest) -> Iterator[CapturingStorage]:
    """Capture the messages of this block instead of showing them."""
    storage = CapturingStorage(request)
    usual = getattr(request, "_messages", None)
    if usual is None:  # the site shows no messages; Django raises an error if a view adds a message
        yield storage
        return
    storage.level = usual.level
    request._messages = storage  # type: ignore[attr-defined]  # where Django keeps the storage
    try:
        yield storage
    finally:
        request._messages = usual  # type: ignore[attr-defined]
