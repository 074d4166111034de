"""
A body that breaks off on its way is never taken for a shorter one, whoever reads it.

A line that is cut looks like the end of what was sent: web servers hand over what came, and Django
takes half a letter for the letter. Here less than was announced is an error to whoever reads it,
and Django makes an `UnreadablePostError` of that, as of every other line that fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import IOBase
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class BrokeOffError(ConnectionError):
    """The body ended before the length that was announced for it."""


class WholeBody(IOBase):
    """A body of `length` bytes. Reading raises `BrokeOffError` where it ends before them."""

    def __init__(self, body: BinaryIO, length: int) -> None:
        self._body = body
        self._left = length

    def read(self, size: int | None = -1, /) -> bytes:
        """As many bytes as are asked for, or all that are still to come."""
        wanted = self._wanted(size)
        came = self._body.read(wanted)
        self._left -= len(came)
        if len(came) < wanted:
            self._broke_off()
        return came

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line, or the first `size` bytes of it."""
        wanted = self._wanted(size)
        line = self._body.readline(wanted)
        self._left -= len(line)
        if len(line) < wanted and not line.endswith(b"\n"):
            self._broke_off()
        return line

    def _wanted(self, size: int | None) -> int:
        return self._left if size is None or size < 0 else min(size, self._left)

    def _broke_off(self) -> None:
        raise BrokeOffError(f"the body broke off {self._left} bytes before its end")


def whole_bodies(application: WSGIApplication) -> WSGIApplication:
    """The same application, to which half a body is none."""

    def asked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["wsgi.input"] = WholeBody(environ["wsgi.input"], _length(environ))
        return application(environ, start_response)

    return asked


def _length(environ: WSGIEnvironment) -> int:
    """In bytes, and as Django takes it: without a number nothing is read at all."""
    try:
        return max(0, int(environ.get("CONTENT_LENGTH") or 0))
    except ValueError:
        return 0
