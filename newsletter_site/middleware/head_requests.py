"""
What was asked for by HEAD is answered without its body, and with the length that it would have.

Django leaves the body to the web server, and gunicorn, which drops it, writes a warning of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class NoBody:
    """In place of the body of an answer. Nothing of it is made; its end is the answer's."""

    def __init__(self, answer: Iterable[bytes]) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return iter(())

    def close(self) -> None:
        """Nothing more is asked of the answer: it may let go of what it holds."""
        close = getattr(self._answer, "close", None)
        if close is not None:
            close()


def no_body_for_head(application: WSGIApplication) -> WSGIApplication:
    """The same application, whose answers to HEAD are headers alone."""

    def asked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # Django has begun its answer when it hands it over: the headers do not wait for the body.
        answer = application(environ, start_response)
        return NoBody(answer) if environ["REQUEST_METHOD"] == "HEAD" else answer

    return asked
