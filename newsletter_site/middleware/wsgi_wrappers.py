"""Wrappers of the WSGI application, which run before Django's middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from io import IOBase
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def drop_head_bodies(application: WSGIApplication) -> WSGIApplication:
    """Answer HEAD without a body, which waitress would send."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = application(environ, start_response)
        if environ["REQUEST_METHOD"] != "HEAD":
            return response
        if hasattr(response, "close"):
            response.close()
        return []

    return wrapped


class TruncatedBodyError(ConnectionError):
    """The body ended before its announced length."""


class CompleteBody(IOBase):
    """A body of `length` bytes.

    Reading raises `TruncatedBodyError` if it ends too early.
    """

    def __init__(self, body: BinaryIO, length: int) -> None:
        self._body = body
        self._left = length

    def read(self, size: int | None = -1, /) -> bytes:
        return self._take(self._body.read, size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._take(self._body.readline, size, end=b"\n")

    def _take(self, read: Callable[[int], bytes], size: int | None, end: bytes = b"") -> bytes:
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        piece = read(wanted)
        self._left -= len(piece)
        if len(piece) < wanted and not (end and piece.endswith(end)):
            raise TruncatedBodyError(f"{self._left} bytes of the body are missing")
        return piece


def refuse_truncated_bodies(application: WSGIApplication) -> WSGIApplication:
    """Refuse truncated bodies: a broken connection looks like the end of the letter."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            length = max(0, int(environ.get("CONTENT_LENGTH") or 0))
        except ValueError:
            length = 0  # Like Django, treat an invalid length as 0.
        environ["wsgi.input"] = CompleteBody(environ["wsgi.input"], length)
        return application(environ, start_response)

    return wrapped


def ignore_charset(application: WSGIApplication) -> WSGIApplication:
    """Read forms as UTF-8, even if a request names another charset.

    Django would refuse or fail.
    """

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        media_type, *parameters = environ.get("CONTENT_TYPE", "").split(";")
        kept = (each for each in parameters if not each.strip().lower().startswith("charset"))
        environ["CONTENT_TYPE"] = ";".join((media_type, *kept))
        return application(environ, start_response)

    return wrapped
