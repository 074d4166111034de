"""
Answer HEAD without a body, but with its length.

Django leaves the body to the web server; gunicorn drops it and logs a warning for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class _EmptyBody:
    """An empty body; closing it closes the response."""

    def __init__(self, response: Iterable[bytes]) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return iter(())

    def close(self) -> None:
        close = getattr(self._response, "close", None)
        if close is not None:
            close()


def drop_head_bodies(application: WSGIApplication) -> WSGIApplication:
    """Wrap a WSGI application."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = application(environ, start_response)
        return _EmptyBody(response) if environ["REQUEST_METHOD"] == "HEAD" else response

    return wrapped
