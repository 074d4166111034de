"""Wrappers of the WSGI application, for what Django's middleware comes too late for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import IOBase
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class _EmptyBody:
    def __init__(self, response: Iterable[bytes]) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return iter(())

    def close(self) -> None:
        close = getattr(self._response, "close", None)
        if close is not None:
            close()


def drop_head_bodies(application: WSGIApplication) -> WSGIApplication:
    """Answer HEAD without a body; gunicorn would drop it and log a warning for each."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = application(environ, start_response)
        return _EmptyBody(response) if environ["REQUEST_METHOD"] == "HEAD" else response

    return wrapped


class TruncatedBodyError(ConnectionError):
    """The body ended before its announced length."""


class CompleteBody(IOBase):
    """A body of `length` bytes. Reading raises `TruncatedBodyError` if it ends before."""

    def __init__(self, body: BinaryIO, length: int) -> None:
        self._body = body
        self._left = length

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._wanted(size)
        piece = self._body.read(wanted)
        self._left -= len(piece)
        if len(piece) < wanted:
            raise TruncatedBodyError(f"{self._left} bytes of the body are missing")
        return piece

    def readline(self, size: int | None = -1, /) -> bytes:
        wanted = self._wanted(size)
        line = self._body.readline(wanted)
        self._left -= len(line)
        if len(line) < wanted and not line.endswith(b"\n"):
            raise TruncatedBodyError(f"{self._left} bytes of the body are missing")
        return line

    def _wanted(self, size: int | None) -> int:
        return self._left if size is None or size < 0 else min(size, self._left)


def refuse_truncated_bodies(application: WSGIApplication) -> WSGIApplication:
    """Refuse short bodies: a broken connection looks like the end of the letter."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            length = max(0, int(environ.get("CONTENT_LENGTH") or 0))
        except ValueError:
            length = 0  # Django also reads nothing then.
        environ["wsgi.input"] = CompleteBody(environ["wsgi.input"], length)
        return application(environ, start_response)

    return wrapped


def ignore_charset(application: WSGIApplication) -> WSGIApplication:
    """Read forms as UTF-8, whatever a request names; Django would refuse or fail."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        media_type, *parameters = environ.get("CONTENT_TYPE", "").split(";")
        kept = (each for each in parameters if not each.strip().lower().startswith("charset"))
        environ["CONTENT_TYPE"] = ";".join((media_type, *kept))
        return application(environ, start_response)

    return wrapped
