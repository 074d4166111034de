"""The only place that touches sockets: HTTP/1.1 on the loopback interface."""

import errno
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from postmark_sandbox.http.request import Request, target
from postmark_sandbox.http.response import Answer, Travel, plain
from postmark_sandbox.postmark_api.validation import BATCH_BYTES
from postmark_sandbox.sandbox import Sandbox
from postmark_sandbox.times import now_ns

HOST = "127.0.0.1"
# A request beyond the limit is read and thrown away up to here, so that its caller gets the 413.
DRAINED_BYTES = 4 * BATCH_BYTES
NOT_READ = 1024 * 1024


class CannotListen(OSError):  # noqa: N818
    """The port is not to be had; the text says why."""


class SandboxServer:
    """The sandbox behind a port of this machine; port 0 picks a free one.

    `start()` answers in threads and returns at once, `stop()` ends it and cuts every connection.
    Usable as a context manager. All options of `Sandbox` are taken.
    """

    def __init__(self, port: int = 0, **options: Any) -> None:
        self.sandbox = Sandbox(**options)
        try:
            self._listener = _Listener((HOST, port), self.sandbox)
        except OverflowError:
            raise CannotListen(f"Port {port} is no port; expected 0 to 65535.") from None
        except OSError as wrong:
            if wrong.errno == errno.EADDRINUSE:
                raise CannotListen(
                    f"Port {port} is in use. Stop what listens there, or choose another port "
                    "with --port."
                ) from None
            raise CannotListen(f"Cannot listen on port {port}: {wrong.strerror}.") from None
        self.port = int(self._listener.server_address[1])
        self.url = f"http://{HOST}:{self.port}"
        self.sandbox.url = self.url
        self._thread = threading.Thread(
            target=self._listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def start(self) -> "SandboxServer":
        """Begins to answer."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ends it: no new calls, those that wait are let go, every connection is cut."""
        self.sandbox.stop()
        if self._thread.is_alive():
            self._listener.shutdown()
            self._thread.join()
        self._listener.server_close()
        self._listener.cut_connections()

    def __enter__(self) -> "SandboxServer":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Listener(ThreadingMixIn, TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._open: set[socket.socket] = set()
        self._to_reset: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remembers the connection, then answers it in a thread of its own."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forgets the connection and closes it."""
        with self._lock:
            self._open.discard(request)
            reset = request in self._to_reset
            self._to_reset.discard(request)
        if reset:
            # A shutdown would say goodbye first.
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def reset_when_closed(self, connection: socket.socket) -> None:
        """Makes the end of this connection a reset: a linger of zero sends RST instead of FIN."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with self._lock:
            self._to_reset.add(connection)

    def cut_connections(self) -> None:
        """Cuts every connection that is still open."""
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that goes away in the middle is nothing to report; anything else is."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        arrived, at_ns = time.monotonic(), now_ns()
        path, query = target(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not _is_loopback(headers.get("host")):
            self._refuse(403, "This sandbox answers to localhost and 127.0.0.1 only.")
            return
        fault = self.server.sandbox.on_arrival(self.command, path)
        if fault is not None:
            if fault.kind == "reset":
                self.server.reset_when_closed(self.connection)
            self.close_connection = True
            return
        body = self._body(headers)
        if body is None:
            return
        request = Request(self.command, path, query, headers, body, at_ns, arrived)
        answer = self.server.sandbox.answer(request)
        self.server.sandbox.gate.pause(answer.wait_s)
        gone = request.parcel is not None and self._caller_is_gone()
        # Noted first, so that whoever has the answer also finds its call in the log.
        self.server.sandbox.answered(request, answer, gone=gone)
        if gone:
            self.close_connection = True
            return
        try:
            self._send(answer)
        except OSError:
            self.server.sandbox.caller_left(request)
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _handle  # noqa: N815

    def _body(self, headers: dict[str, str]) -> bytes | None:
        if "transfer-encoding" in headers:
            self._refuse(411, "A request needs a Content-Length.")
            return None
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            self._refuse(400, "The Content-Length is not a number.")
            return None
        if int(length) > BATCH_BYTES:
            left = min(int(length), DRAINED_BYTES)
            while left > 0 and (read := self.rfile.read(min(left, NOT_READ))):
                left -= len(read)
            self._refuse(413, "The request is larger than 50 MB.")
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            # The caller went away in the middle: what it did not finish was never said.
            self.close_connection = True
            return None
        return body

    def _refuse(self, status: int, sentence: str) -> None:
        self.close_connection = True
        self._send(plain(status, sentence))

    def _send(self, answer: Answer) -> None:
        if answer.travel is Travel.CLOSED:
            self.close_connection = True
            return
        reason = self.responses.get(answer.status, ("", ""))[0]
        lines = [
            f"HTTP/1.1 {answer.status} {reason}",
            f"Date: {self.date_time_string()}",
            f"Content-Type: {answer.content_type}",
            f"Content-Length: {len(answer.body)}",
            *(f"{name}: {value}" for name, value in answer.headers.items()),
        ]
        if self.close_connection:
            lines.append("Connection: close")
        head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        body = b"" if self.command == "HEAD" else answer.body
        if answer.travel is Travel.CUT:
            self.connection.sendall(head + body[: len(body) // 2])
            self.close_connection = True
        elif answer.travel is Travel.DRIPPED:
            self._drip(head + body, answer.drip_s)
        else:
            self.connection.sendall(head + body)

    def _drip(self, whole: bytes, seconds: float) -> None:
        steps = 100
        size = len(whole) // steps + 1
        for begin in range(0, len(whole), size):
            self.connection.sendall(whole[begin : begin + size])
            self.server.sandbox.gate.pause(seconds / steps)

    def _caller_is_gone(self) -> bool:
        try:
            peeked: bytes = self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return peeked == b""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is written per request: the page of calls is the log."""


def _is_loopback(host: str | None) -> bool:
    """Whether a Host header names this machine. Any other name that leads here may be a web page
    that had its own name point to 127.0.0.1."""
    if host is None:
        return True
    name = host.strip().lower()
    name = name.partition("]")[0][1:] if name.startswith("[") else name.rpartition(":")[0] or name
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
