"""
The messages that a view shows the author, kept back until its work is committed.

"It has been accepted" must not be shown when the commit then fails, and must be shown again
when the form is answered a second time. So the view gets a store of its own to speak into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.messages import add_message
from django.contrib.messages.storage.base import BaseStorage, Message
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeData, mark_safe


@dataclass(frozen=True)
class ShownMessage:
    """One message: Django's level, the text, its tags, and whether the text is safe HTML."""

    level: int
    text: str
    tags: str
    is_html: bool


class KeptBack(BaseStorage):
    """Django's store for messages, for the length of one piece of work."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self._unread: list[Message] = []

    def _get(self, *args: Any, **kwargs: Any) -> tuple[list[Message], bool]:
        # A page that shows messages must not show older ones: the page would be saved with them.
        return [], True

    def _store(
        self, messages: Iterable[Message], response: HttpResponse, *args: Any, **kwargs: Any
    ) -> list[Message]:
        self._unread = list(messages)
        return []

    def unread(self, response: HttpResponse) -> tuple[ShownMessage, ...]:
        """Return the messages that the answer itself has not shown already, in order."""
        self.update(response)
        return tuple(
            ShownMessage(
                level=message.level,
                text=str(message.message),
                tags=message.extra_tags or "",
                is_html=isinstance(message.message, SafeData),
            )
            for message in self._unread
        )


@contextmanager
def keeping_back_messages(request: HttpRequest) -> Iterator[KeptBack]:
    """Collect what is said in this block instead of showing it. A failure is then not announced."""
    kept_back = KeptBack(request)
    usual = getattr(request, "_messages", None)
    if usual is None:  # the site shows no messages: a view that adds one is told so by Django
        yield kept_back
        return
    kept_back.level = usual.level
    request._messages = kept_back  # type: ignore[attr-defined]  # where Django keeps the store
    try:
        yield kept_back
    finally:
        request._messages = usual  # type: ignore[attr-defined]


def show(request: HttpRequest, messages: Iterable[ShownMessage]) -> None:
    """Show these messages to the author on the next page that shows any."""
    for message in messages:
        # Marked as safe by the view when it was first shown, and read from our own table.
        text = mark_safe(message.text) if message.is_html else message.text  # noqa: S308
        add_message(request, message.level, text, extra_tags=message.tags)
