"""A gunicorn worker whose threads get only requests that have arrived completely.

gunicorn's `gthread` reads requests in its threads, so a few slow clients block all of them. Here
the event loop receives requests. At most `READERS` threads read larger ones.
"""

import errno
import math
import re
import socket
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.http.body import LengthReader
from gunicorn.http.errors import (
    ConfigurationProblem,
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

from api.problem import ProblemType

# The bytes of a request that the event loop buffers: a letter of usual length.
BUFFERED = 128 * 1024
# Threads that may wait for the rest of a request. The last one is only for full buffers.
READERS = 3
# The time for a request to arrive. The slowest allowed rate adds further time for its bytes.
ARRIVES_WITHIN_S = 15.0
SLOWEST_BYTES_PER_S = 50_000
# A client may take this long to receive a piece of its response. After that only `SLOW_TAKERS`
# threads wait for clients. Other slow clients are disconnected.
TAKEN_AT_ONCE_S = 0.25
TAKEN_WITHIN_S = 30.0
SLOW_TAKERS = 3
# The unread rest of a request is discarded for this long. Closing at once would lose the response.
LINGER_S = 10.0
# A process accepts at most this number of connections, far below the usual 1,024 open files.
MOST_CONNECTIONS = 400
# Above this number, connections that have been idle for `IDLE_S` are closed, the oldest first.
MANY_CONNECTIONS = 300
IDLE_S = 2.0

_END_OF_HEADER = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length[ \t]*:([^\r]*)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_MOST_DIGITS = 15
# gunicorn keeps a connection only if it discards less than 64 KiB of an unread body.
_DISCARDED = 63 * 1024
_AT_A_TIME = 64 * 1024


def body_length(header: bytes) -> float:
    """Return the number of bytes after the header, or infinity if it is unknown."""
    if _CHUNKED.search(header):
        return math.inf
    lengths = _LENGTH.findall(header)
    if not lengths:
        return 0
    digits = lengths[0].strip().lstrip(b"0") or b"0"
    is_html_form = len(lengths) == 1 and digits.isdigit() and len(digits) <= _MOST_DIGITS
    return int(digits) if is_html_form else math.inf


_PATH = re.compile(rb"[A-Z]+ (?:https?://[^/ ]*)?(/[^ ?]*)")
_PATH_BYTES = 1024
_TOO_SLOW = (
    ProblemType.TOO_SLOW,
    "The request took too long to arrive. Nothing was changed. Send it again.",
)
_NO_READER = (
    ProblemType.NOT_AVAILABLE,
    "Too many large requests are arriving. Nothing was changed. Send yours again in a minute.",
)
_NOT_OF_THE_CLIENT = (ConfigurationProblem, InvalidResponseHeader, InvalidResponseHeaderName)


def _explain(error: Exception, cfg: Any) -> tuple[ProblemType, str]:
    """Return why gunicorn could not read or answer a request."""
    if not isinstance(error, ParseException) or isinstance(error, _NOT_OF_THE_CLIENT):
        sentence = "The server failed. Repeat the call with the same key. See the log."
        return ProblemType.FAILED, sentence
    if isinstance(error, LimitRequestLine):
        return ProblemType.ADDRESS_TOO_LONG, (
            f"The address has more than {cfg.limit_request_line:,} bytes, with its parameters. "
            "Nothing was changed. Shorten it."
        )
    if isinstance(error, LimitRequestHeaders):
        return ProblemType.HEADERS_TOO_LARGE, (
            f"There are more than {cfg.limit_request_fields} headers, or one has more than "
            f"{cfg.limit_request_field_size:,} bytes. Nothing was changed. Send fewer headers."
        )
    return ProblemType.NOT_READABLE, "The request is not valid HTTP/1.1. Nothing was changed."


def _refusal(begins_with: bytes, kind: ProblemType, detail: str) -> bytes:
    """Return the response to an unread request, as a problem or as a page."""
    # gunicorn loads this module before Django is set up.
    from newsletter_site.middleware.error_pages import refuse_unread

    found = _PATH.match(begins_with)
    path = found[1].decode("latin-1") if found else ""
    response = refuse_unread(path, kind, detail)
    response["Connection"] = "close"
    response["Cache-Control"] = "no-store"
    response["Content-Length"] = str(len(response.content))
    if kind is ProblemType.NOT_AVAILABLE:
        response["Retry-After"] = "60"
    status_line = f"HTTP/1.1 {response.status_code} {response.reason_phrase}\r\n".encode()
    return status_line + response.serialize_headers() + b"\r\n\r\n" + response.content


class _Arrival:
    def __init__(self, received: int) -> None:
        self.began_s = time.monotonic()
        self.received = received
        # Whether a thread may wait for the rest.
        self.has_reader = False

    def time_left_s(self, now_s: float) -> float:
        return self.began_s + self._allowed_s() - now_s

    def end_by(self, deadline_s: float) -> None:
        self.began_s = min(self.began_s, deadline_s - self._allowed_s())

    def _allowed_s(self) -> float:
        return ARRIVES_WITHIN_S + self.received / SLOWEST_BYTES_PER_S


class _Unreader(SocketUnreader):
    """Receive the rest of a request in a thread, until the time for its arrival ends."""

    arrival: _Arrival

    def chunk(self, size_hint: int | None = None) -> bytes:
        left_s = self.arrival.time_left_s(time.monotonic()) if self.arrival.has_reader else 0.0
        try:
            self.sock.settimeout(max(left_s, 0.0))
            piece: bytes = super().chunk(size_hint)
        except (TimeoutError, BlockingIOError) as error:
            raise _reset("the request arrived too slowly") from error
        finally:
            self.sock.settimeout(None)
        self.arrival.received += len(piece)
        return piece


class _Socket(socket.socket):
    """Send a response. Only a few threads may wait for slow clients."""

    slow_takers = threading.BoundedSemaphore(SLOW_TAKERS)
    # The first bytes of the current request.
    begins_with = b""

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        rest = memoryview(data)
        end_s = time.monotonic() + TAKEN_AT_ONCE_S
        try:
            while rest:
                self.settimeout(max(end_s - time.monotonic(), 0.0))
                rest = rest[self.send(rest, flags) :]
        except (TimeoutError, BlockingIOError):
            if not self.slow_takers.acquire(blocking=False):
                raise _reset("too many slow clients") from None
            try:
                self.settimeout(TAKEN_WITHIN_S)
                super().sendall(rest, flags)
            except TimeoutError as error:
                raise _reset("the client did not receive its response") from error
            finally:
                self.slow_takers.release()
        finally:
            self.settimeout(None)


def _reset(why: str) -> ConnectionResetError:
    # gunicorn interprets this number as a client that left, and writes no traceback.
    return ConnectionResetError(errno.ECONNRESET, why)


class _Request(Request):
    """Close the connection if the request is answered before its body was received."""

    def should_close(self) -> bool:
        return bool(super().should_close()) or not self._is_received()

    def _is_received(self) -> bool:
        if self.body is None:
            return True
        if self.body.failed:
            return False
        reader = self.body.reader
        if isinstance(reader, LengthReader):
            return bool(reader.length <= min(self.unreader.buf.getbuffer().nbytes, _DISCARDED))
        return reader.parser is None


class _Parser(RequestParser):
    mesg_class = _Request

    def __init__(self, cfg: Any, sock: socket.socket, client: Any) -> None:
        super().__init__(cfg, sock, client)
        self.unreader = _Unreader(sock)


class _Connection(TConn):
    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        self.parser = _Parser(cfg, sock, client)
        self.initialized = True
        self.expect(b"")

    def expect(self, buffered: bytes) -> None:
        self.buffer = bytearray()
        # The total length of the request; None until its header has arrived.
        self.length: float | None = None
        self.arrival = self.parser.unreader.arrival = _Arrival(0)
        self.take(buffered)

    def take(self, piece: bytes) -> None:
        before = len(self.buffer)
        self.buffer += piece
        self.arrival.received += len(piece)
        if self.length is None:
            end = self.buffer.find(_END_OF_HEADER, max(0, before - 3))
            if end >= 0:
                header = end + len(_END_OF_HEADER)
                self.length = header + body_length(bytes(self.buffer[:header]))

    @property
    def is_full(self) -> bool:
        return len(self.buffer) >= BUFFERED

    @property
    def may_be_read(self) -> bool:
        """Whether a thread may start. It can refuse the request before the rest arrives."""
        return self.length is not None or self.is_full


class BufferingWorker(ThreadWorker):
    """The worker. Only `handle` runs outside the event loop's thread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.worker_connections = MOST_CONNECTIONS
        self.max_keepalived = MANY_CONNECTIONS // 2
        self.cfg.set("sendfile", False)  # it would bypass `_Socket.sendall`
        self._stops_at_s = math.inf
        # Both contain the oldest entry first.
        self._arriving: dict[_Connection, None] = {}
        self._lingering: dict[_Connection, float] = {}
        self._readers = 0

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Raise `ValueError` for TLS, which this worker does not support."""
        super().check_config(cfg, log)
        if cfg.is_ssl:
            raise ValueError("gunicorn has a certificate. Give it to the proxy instead.")

    def accept(self, listener: socket.socket) -> None:
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._close_idle(1, idle_s=0.0)
            return
        self.nr_conns += 1
        sock = _Socket(fileno=sock.detach())
        self._wait_for(_Connection(self.cfg, sock, client, listener.getsockname()))

    def on_client_socket_readable(self, conn: _Connection, client: socket.socket) -> None:
        if conn not in self.keepalived_conns:
            return
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        conn.expect(b"")
        self._wait_for(conn)

    def handle(self, conn: _Connection) -> bool:
        conn.sock.begins_with = bytes(conn.buffer[:_PATH_BYTES])
        conn.parser.unreader.unread(bytes(conn.buffer))
        conn.buffer.clear()
        return bool(super().handle(conn))

    def handle_error(self, req: Any, client: _Socket, addr: Any, exc: Exception) -> None:
        """Answer a request that gunicorn cannot read, without logging its address."""
        kind, detail = _explain(exc, self.cfg)
        if kind is ProblemType.FAILED:
            self.log.exception("a request failed outside the site")
        else:
            self.log.warning("a request was refused unread: %s", kind.title)
        with suppress(OSError):
            client.sendall(_refusal(client.begins_with, kind, detail))

    def finish_request(self, conn: _Connection, fs: Future[bool]) -> None:
        if conn.arrival.has_reader:
            conn.arrival.has_reader = False
            self._readers -= 1
        if fs.cancelled() or fs.exception() or not fs.result():
            self._linger(conn)
        elif buffered := conn.parser.unreader.take_buffered():
            conn.expect(buffered)
            self._wait_for(conn)
            self._decide(conn)
        else:
            super().finish_request(conn, fs)
        self._assign_readers()

    def murder_pending(self) -> None:
        """Close connections that took too long, in each round of gunicorn's loop."""
        now_s = time.monotonic()
        for conn in [one for one in self._arriving if one.arrival.time_left_s(now_s) <= 0]:
            self._stop_waiting(conn)
            self._refuse(conn)
        for conn in [one for one, until_s in self._lingering.items() if until_s <= now_s]:
            self._close(conn)
        self._close_idle(self.nr_conns - MANY_CONNECTIONS, idle_s=IDLE_S)

    def _cap_keepalive(self, deadline: float) -> None:
        """Stop waiting at the deadline: slow clients must not delay a restart."""
        super()._cap_keepalive(deadline)
        self._stops_at_s = deadline
        for conn in self._arriving:
            conn.arrival.end_by(deadline)
        for conn, until_s in self._lingering.items():
            self._lingering[conn] = min(until_s, deadline)

    def _wait_for(self, conn: _Connection) -> None:
        conn.sock.setblocking(False)
        conn.arrival.end_by(self._stops_at_s)
        self._arriving[conn] = None
        self.poller.register(conn.sock, EVENT_READ, partial(self._receive, conn))

    def _receive(self, conn: _Connection, sock: socket.socket) -> None:
        if conn not in self._arriving:
            return  # started or closed by an earlier event of the same round
        try:
            piece = sock.recv(_AT_A_TIME)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        conn.take(piece)
        if piece:
            self._decide(conn)
        elif conn.buffer:
            self._begin(conn)
        else:
            self._stop_waiting(conn)
            self._close(conn)

    def _decide(self, conn: _Connection) -> None:
        if conn.length is not None and len(conn.buffer) >= conn.length:
            self._begin(conn)
        elif conn.may_be_read:
            self._assign_readers()
            if conn in self._arriving and conn.is_full:
                self.poller.unregister(conn.sock)

    def _assign_readers(self) -> None:
        """Give threads to requests that have not arrived, the fullest buffer first."""
        while self._readers < READERS:
            only_full = self._readers == READERS - 1
            waiting = [
                one for one in self._arriving if (one.is_full if only_full else one.may_be_read)
            ]
            if not waiting:
                return
            conn = max(waiting, key=lambda one: len(one.buffer))
            conn.arrival.has_reader = True
            self._readers += 1
            self._begin(conn)

    def _begin(self, conn: _Connection) -> None:
        self._stop_waiting(conn)
        self.enqueue_req(conn)

    def _stop_waiting(self, conn: _Connection) -> None:
        self._arriving.pop(conn, None)
        self._lingering.pop(conn, None)
        # It is not registered if its buffer is full or its socket is closed.
        with suppress(KeyError, ValueError):
            self.poller.unregister(conn.sock)

    def _refuse(self, conn: _Connection) -> None:
        if conn.buffer:
            with suppress(OSError):
                begins_with = bytes(conn.buffer[:_PATH_BYTES])
                conn.sock.send(_refusal(begins_with, *(_NO_READER if conn.is_full else _TOO_SLOW)))
        self._linger(conn)

    def _linger(self, conn: _Connection) -> None:
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            self.poller.register(conn.sock, EVENT_READ, partial(self._discard, conn))
        except (OSError, ValueError):
            self._close(conn)
        else:
            linger_s = LINGER_S if self.alive else STOP_KEEPALIVE_LINGER
            self._lingering[conn] = time.monotonic() + linger_s

    def _discard(self, conn: _Connection, sock: socket.socket) -> None:
        if conn not in self._lingering:
            return
        try:
            has_ended = not sock.recv(_AT_A_TIME)
        except BlockingIOError:
            return
        except OSError:
            has_ended = True
        if has_ended:
            self._close(conn)

    def _close(self, conn: _Connection) -> None:
        self._stop_waiting(conn)
        self.nr_conns -= 1
        conn.close()

    def _close_idle(self, number: int, *, idle_s: float) -> None:
        """Close up to `number` connections that have waited for `idle_s` or longer."""
        before_s = time.monotonic() - idle_s
        idle = [one for one in self._arriving if one.arrival.began_s <= before_s]
        for conn in (*self._lingering, *idle)[: max(0, number)]:
            self._close(conn)
