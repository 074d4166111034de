"""
Refuse request bodies that are shorter than announced.

A connection that breaks looks like the end of the body: web servers pass on what came, and Django
would take half a letter for the letter. Reading a short body raises an error here, and Django makes
an `UnreadablePostError` of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import IOBase
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class TruncatedBodyError(ConnectionError):
    """The body ended before its announced length."""


class CompleteBody(IOBase):
    """A body of `length` bytes. Reading raises `TruncatedBodyError` if it ends before."""

    def __init__(self, body: BinaryIO, length: int) -> None:
        self._body = body
        self._left = length

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, or all that are left."""
        wanted = self._wanted(size)
        piece = self._body.read(wanted)
        self._left -= len(piece)
        if len(piece) < wanted:
            raise TruncatedBodyError(f"{self._left} bytes of the body are missing")
        return piece

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read the next line, or the first `size` bytes of it."""
        wanted = self._wanted(size)
        line = self._body.readline(wanted)
        self._left -= len(line)
        if len(line) < wanted and not line.endswith(b"\n"):
            raise TruncatedBodyError(f"{self._left} bytes of the body are missing")
        return line

    def _wanted(self, size: int | None) -> int:
        return self._left if size is None or size < 0 else min(size, self._left)


def refuse_truncated_bodies(application: WSGIApplication) -> WSGIApplication:
    """Wrap a WSGI application."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            length = max(0, int(environ.get("CONTENT_LENGTH") or 0))
        except ValueError:
            length = 0  # Django also reads nothing then.
        environ["wsgi.input"] = CompleteBody(environ["wsgi.input"], length)
        return application(environ, start_response)

    return wrapped
