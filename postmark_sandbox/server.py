"""HTTP/1.1 server on the loopback interface."""

import contextlib
import errno
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Self

from postmark_sandbox import control_api
from postmark_sandbox.faults.fault_rules import FaultPoint
from postmark_sandbox.http import (
    PostmarkError,
    Request,
    Response,
    is_loopback,
    plain,
    read_target,
    read_url,
)
from postmark_sandbox.pages import page_routes as page_routes
from postmark_sandbox.postmark_api import api_routes as api_routes
from postmark_sandbox.postmark_api.call import ApiCall
from postmark_sandbox.rules.validation import BATCH_BYTES
from postmark_sandbox.sandbox_state import Sandbox
from postmark_sandbox.state.call_log import LoggedCall
from postmark_sandbox.times import now_ns

HOST = "127.0.0.1"
# Up to this number of bytes, a request that is too large is read and discarded, so that its caller
# gets the status 413.
MAX_DRAINED_BYTES = 4 * BATCH_BYTES
DRAIN_CHUNK_BYTES = 1024 * 1024
# A linger time of zero seconds makes a closing socket send RST instead of FIN.
NO_LINGER = struct.pack("ii", 1, 0)


class ListenError(OSError):
    """The port is not available; the message says why."""


class SandboxServer(ThreadingMixIn, TCPServer):
    """A sandbox that listens on a port of this machine. Port 0 picks a free port.

    `start()` handles calls in threads and returns at once; `stop()` cuts every connection.
    """

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(self, port: int = 0, **options: Any) -> None:
        self.sandbox = Sandbox(**options)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        try:
            super().__init__((HOST, port), _Handler)
        except OverflowError:
            raise ListenError(f"Port {port} is not a valid port; expected 0 to 65535.") from None
        except OSError as wrong:
            sentence = f"Cannot listen on port {port}: {wrong.strerror}."
            if wrong.errno == errno.EADDRINUSE:
                next_step = "Stop the program that uses it, or choose another port with --port."
                sentence = f"Port {port} is in use. {next_step}"
            raise ListenError(sentence) from None
        self.port = int(self.server_address[1])
        self.url = self.sandbox.url = f"http://{HOST}:{self.port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        self.sandbox.stop()
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        self.server_close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing if a caller closes the connection during a request."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: SandboxServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Buffer the output, so that headers and body are sent together.
    wbufsize = -1

    def _handle(self) -> None:
        arrived, at_ns = time.monotonic(), now_ns()
        sandbox = self.server.sandbox
        path, query = read_target(self.path)
        is_api = path.lower().startswith(api_routes.PREFIXES)
        if is_api:
            # Postmark accepts paths with and without a slash at the end.
            path = path.removesuffix("/")
        headers = {name.lower(): value for name, value in self.headers.items()}
        # Reject a Host that is not this machine: the host name of a hostile web page could resolve
        # to 127.0.0.1.
        host = read_url(f"http://{headers.get('host', HOST)}")
        if host is None or not is_loopback(host.hostname):
            self._refuse(403, "This sandbox answers only to localhost and 127.0.0.1.")
            return
        if (fault := sandbox.faults.on_call(path, (), FaultPoint.ARRIVAL)) is not None:
            sandbox.calls.add(LoggedCall(at_ns, self.command, path, path, 0, 0.0, fault=fault.kind))
            sandbox.gate.changed()
            if fault.kind == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
                # Close the socket here, which sends RST. If the socket stayed open, the server
                # would shut the connection down, which sends FIN.
                self.connection.close()
            self.close_connection = True
            return
        if (body := self._read_body(headers)) is None:
            return
        request = Request(self.command, path, query, headers, body, at_ns, arrived)
        if is_api:
            self._handle_api_call(ApiCall(sandbox, request))
            return
        is_control = path.startswith(control_api.PREFIX)
        respond = control_api.respond if is_control else page_routes.respond
        try:
            response = respond(sandbox, request)
        except PostmarkError as refused:
            response = refused.response()
        except ValueError as wrong:
            response = plain(400, str(wrong))
        self._send(response)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _handle  # noqa: N815

    def _handle_api_call(self, call: ApiCall) -> None:
        sandbox = call.sandbox
        response = api_routes.respond(call)
        spent_s = time.monotonic() - call.request.arrived
        sandbox.gate.pause(max(response.wait_s, sandbox.latency_s - spent_s))
        gone = call.stored is not None and self._caller_is_gone()
        # Log the call before sending the response, so that a caller with a response also finds its
        # call in the log.
        call.log(0 if response.closed else response.status, gone=gone)
        if gone:
            self.close_connection = True
            return
        try:
            self._send(response)
        except OSError:
            call.record_caller_gone()
            self.close_connection = True

    def _read_body(self, headers: dict[str, str]) -> bytes | None:
        """Return the body, or None if the request was refused."""
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers:
            self._refuse(411, "A request needs a Content-Length.")
            return None
        if not (length.isascii() and length.isdigit()):
            self._refuse(400, "The Content-Length is not a number.")
            return None
        if int(length) > BATCH_BYTES:
            left = min(int(length), MAX_DRAINED_BYTES)
            while left > 0 and (read := self.rfile.read(min(left, DRAIN_CHUNK_BYTES))):
                left -= len(read)
            self._refuse(413, "The request is larger than 50 MB.")
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            # The caller left in the middle of its request.
            self.close_connection = True
            return None
        return body

    def _refuse(self, status: int, sentence: str) -> None:
        self.close_connection = True
        self._send(plain(status, sentence))

    def _send(self, response: Response) -> None:
        if response.closed:
            self.close_connection = True
            return
        self.send_response_only(response.status)
        self.send_header("Date", self.date_time_string())
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.cut:
            self.close_connection = True
        elif self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            size = len(response.body) // (2 if response.cut else 1)
            self.wfile.write(response.body[:size])
        self.wfile.flush()

    def _caller_is_gone(self) -> bool:
        try:
            peeked: bytes = self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            return peeked == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Write no log line for a request, because the page of calls lists all requests."""
