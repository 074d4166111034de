"""Notices when a view makes use of the CSRF token, which must never be saved with an answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.http import HttpRequest

# Django sets it whenever the token is asked for, so that the cookie is sent along
# (django.middleware.csrf.get_token); every rendering of the token goes that way.
ASKED_FOR = "CSRF_COOKIE_NEEDS_UPDATE"


@dataclass
class TokenWatch:
    """Whether the token was asked for in the block that was watched."""

    was_used: bool = False


@contextmanager
def watching_the_csrf_token(request: HttpRequest) -> Iterator[TokenWatch]:
    """Watch one block of code; uses before and after it count for themselves."""
    watch = TokenWatch()
    asked_before = bool(request.META.pop(ASKED_FOR, False))
    try:
        yield watch
    finally:
        watch.was_used = bool(request.META.get(ASKED_FOR, False))
        request.META[ASKED_FOR] = asked_before or watch.was_used
