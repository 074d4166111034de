"""A keep-alive HTTP connection. Every wait ends at the call's deadline.

urllib3 connects, verifies certificates and decodes answers. One pattern reads a usual answer.
http.client and urllib3 need five times the CPU time to read such an answer.
"""

import http.client
import io
import re
import socket
import struct
import weakref
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple

import certifi
from urllib3 import HTTPHeaderDict, HTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url
from urllib3.util.ssl_ import create_urllib3_context

from delivery.provider.deadline_clock import now_s

CONNECT_TIMEOUT_S = 10.0
# An answer of 500 results is about 120 kB, far below this limit.
MAX_RESPONSE_BYTES = 16 * 1024 * 1024
# A suppression list is a single answer: about 500 MB for four million addresses.
MAX_DUMP_BYTES = 512 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
# Bytes that were not sent before the deadline must not be sent after it.
_DISCARD_ON_CLOSE = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

# The errors of a network. Any other error is a bug of Homing. The worker logs it with its traceback
# (delivery/worker/worker_process.py), and the batch is recovered when its lease expires.
NETWORK_ERRORS = (HTTPError, http.client.HTTPException, OSError)

_NONE: Mapping[str, str] = {}

# Headers that do not affect where the answer ends, how it is encoded, or what follows it.
_OTHER_HEADERS = rb"""(?: connection:[ ]keep-alive\r\n | (?!
    connection: | content-encoding: | content-length: | trailer: | transfer-encoding: | upgrade:
    ) [a-z0-9-]+:[^\r\n]*\r\n)*"""
_USUAL_HEAD = re.compile(
    rb"HTTP/1\.1[ ]200[ ][^\r\n]*\r\n" + _OTHER_HEADERS + rb"content-length:[ ]([0-9]{1,8})\r\n"
    + _OTHER_HEADERS + rb"\r\n",
    re.IGNORECASE | re.VERBOSE,
)  # fmt: skip


class RawResponse(NamedTuple):
    """Status, headers and body of a response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TooLateToStartError(Exception):
    """The deadline passed before the first byte was written: no mail was sent."""


class ResponseTooLongError(Exception):
    """The answer is longer than its limit."""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Parse the seconds of a `Retry-After`, at most 3600; None without this header.

    Only the form with seconds is read, not the form with a date.
    """
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    return min(float(value), 3600.0) if re.fullmatch(r"[0-9]{1,9}", value.strip()) else None


def _lines(headers: Mapping[str, str]) -> str:
    if not all(f"{value}".isprintable() for value in headers.values()):
        raise ValueError("a header of a call contains a control character")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


class Connection:
    """A connection for one thread, which follows no redirects and repeats no calls."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        deadline_s: float,
        kept_after: Collection[int] = (HTTPStatus.OK,),
        reads_headers: bool = False,
    ) -> None:
        """Prepare calls with these headers.

        The connection is kept after an answer with a status in `kept_after`. The headers of a usual
        answer are read only with `reads_headers`.
        """
        self._kept_after, self._reads_headers = kept_after, reads_headers
        url = parse_url(base_url)
        self._headers = _lines({"Host": url.netloc or "", **headers})
        self._prefix = (url.path or "").rstrip("/")
        options: list[Any] = [*HTTPConnection.default_socket_options]
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Unacknowledged bytes must not arrive after the deadline.
            unacknowledged_ms = max(1, int(deadline_s * 1000))
            options.append((socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unacknowledged_ms))
        host = url.host or ""
        if url.scheme == "https":
            self.tls = create_urllib3_context()
            self.tls.load_verify_locations(certifi.where())
            self._http: HTTPConnection = HTTPSConnection(
                host, url.port, socket_options=options, ssl_context=self.tls
            )
        else:
            self._http = HTTPConnection(host, url.port, socket_options=options)
        # A client that is dropped without `close` leaves no open socket.
        weakref.finalize(self, self._http.close)
        self._deadline_at_s = 0.0
        self.wrote = False

    def close(self) -> None:
        """Close the connection. The next call opens the connection again."""
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        body: bytes,
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None],
        write: Callable[[bytes], object] | None = None,
        headers: Mapping[str, str] = _NONE,
    ) -> RawResponse:
        """Make one call, with the `headers` of this call.

        A successful response is passed to `write`, if given, and is not kept. After an error,
        `wrote` says whether a byte may have been written.
        """
        self._deadline_at_s = deadline_at_s
        self.wrote = False
        is_kept = False
        try:
            # If a kept connection is readable now, the server has closed it or has sent bytes that
            # no call asked for.
            if not self._http.is_connected:
                self._http.close()
                self._http.timeout = min(CONNECT_TIMEOUT_S, max(0.001, deadline_at_s - now_s()))
                self._http.connect()
            self._send(self._head(method, path, len(body), headers), body, about_to_complete)
            answer, is_kept = self._read_answer(method, write)
            return answer
        finally:
            if not is_kept:
                self._discard_and_close()

    def _discard_and_close(self) -> None:
        with suppress(OSError, AttributeError):
            self._http.sock.setsockopt(*_DISCARD_ON_CLOSE)
        self.close()

    def _head(self, method: str, path: str, length: int, headers: Mapping[str, str]) -> bytes:
        # Only the answers to GET are long enough to be worth compressing.
        extra = "Accept-Encoding: gzip, deflate" if method == "GET" else f"Content-Length: {length}"
        line = f"{method} {self._prefix}{path} HTTP/1.1\r\n"
        of_call = _lines(headers) if headers else ""
        return f"{line}{self._headers}{of_call}{extra}\r\n\r\n".encode("latin-1")

    def _send(self, head: bytes, body: bytes, about_to_complete: Callable[[], None]) -> None:
        # The answer may come before the whole request was read, as a 413 does.
        if len(body) <= CHUNK_BYTES:
            last = memoryview(head + body)
        else:
            last = memoryview(body)[-CHUNK_BYTES:]
            try:
                self._write(memoryview(head))
                self._write(memoryview(body)[:-CHUNK_BYTES])
            except BrokenPipeError:
                return
        about_to_complete()
        with suppress(BrokenPipeError):
            self._write(last)

    def _write(self, piece: memoryview) -> None:
        while piece:
            sock = self._sock_until_deadline()
            self.wrote = True
            piece = piece[sock.send(piece) :]

    def _sock_until_deadline(self) -> socket.socket:
        """Return the socket, whose next operation ends at the deadline at the latest."""
        remaining = self._deadline_at_s - now_s()
        if remaining <= 0:
            raise TimeoutError if self.wrote else TooLateToStartError
        sock: socket.socket = self._http.sock
        sock.settimeout(remaining)
        return sock

    def receive_into(self, buffer: memoryview) -> int:
        """Read some bytes of an answer; return how many, 0 at its end."""
        return self._sock_until_deadline().recv_into(buffer)

    def _read_answer(
        self, method: str, write: Callable[[bytes], object] | None
    ) -> tuple[RawResponse, bool]:
        """Read an answer; return it, and whether the connection can serve another call."""
        begun = self._sock_until_deadline().recv(CHUNK_BYTES)
        is_plain = write is None and not self._reads_headers
        usual = _USUAL_HEAD.match(begun) if is_plain else None
        if usual is None or int(usual[1]) > MAX_RESPONSE_BYTES:
            return self._read_unusual_answer(method, begun, write)
        length, begun = int(usual[1]), begun[usual.end() :]
        # Keep the connection only if no bytes follow the answer, because the next call would read
        # those bytes as its answer.
        is_kept = len(begun) <= length
        if len(begun) < length:
            begun += self._read_rest(length - len(begun))
        return RawResponse(HTTPStatus.OK, {}, begun[:length]), is_kept

    def _read_rest(self, missing: int) -> bytes:
        pieces = []
        while missing:
            received = self._sock_until_deadline().recv(min(missing, CHUNK_BYTES))
            if not received:
                raise http.client.IncompleteRead(b"", missing)
            pieces.append(received)
            missing -= len(received)
        return b"".join(pieces)

    def _read_unusual_answer(
        self, method: str, begun: bytes, write: Callable[[bytes], object] | None
    ) -> tuple[RawResponse, bool]:
        incoming: Any = _Incoming(begun, self.receive_into)
        # Without `with`, an answer that is read only in part would stay open until the garbage
        # collector finds it.
        with http.client.HTTPResponse(incoming, method=method) as response:
            response.begin()
            headers = HTTPHeaderDict(response.getheaders())
            decoded = HTTPResponse(
                response,
                headers,
                response.status,
                preload_content=False,
                original_response=response,
                request_method=method,
            )
            content = b""
            if write is not None and response.status == HTTPStatus.OK:
                _pass_on(decoded, write)
            else:
                content = decoded.read(MAX_RESPONSE_BYTES + 1, decode_content=True)
            if len(content) > MAX_RESPONSE_BYTES:
                raise ResponseTooLongError
            # The real response may follow an interim response (1xx) or a proxy's page. On this
            # connection, the real response would be read as the response to the next call.
            is_kept = (
                response.status in self._kept_after
                and response.isclosed()
                and not response.will_close
            )
            return RawResponse(response.status, headers, content), is_kept


class _Incoming(io.RawIOBase):
    """The bytes of an answer from its start, for http.client, which expects a socket."""

    def __init__(self, begun: bytes, receive_into: Callable[[memoryview], int]) -> None:
        self._begun = begun
        self._receive_into = receive_into

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._begun:
            return self._receive_into(buffer)
        length = min(len(self._begun), len(buffer))
        buffer[:length], self._begun = self._begun[:length], self._begun[length:]
        return length


def _pass_on(response: HTTPResponse, write: Callable[[bytes], object]) -> None:
    """Pass a response to `write` in chunks."""
    length = 0
    while chunk := response.read1(CHUNK_BYTES, decode_content=True):
        length += len(chunk)
        if length > MAX_DUMP_BYTES:
            raise ResponseTooLongError
        write(chunk)
