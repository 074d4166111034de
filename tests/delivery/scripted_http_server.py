"""A loopback server that handles each connection by a script, byte by byte."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

CERTIFICATE = Path(__file__).parent / "loopback.pem"
# The longest time in seconds that a test waits. Only a failing test waits this long.
PATIENCE_S = 20.0


class Conversation:
    """One connection, seen from the server."""

    def __init__(self, server: ScriptedServer, sock: socket.socket) -> None:
        self._server = server
        self._sock = sock
        self._unread = bytearray()

    def read_request(self) -> bytes:
        """Read the next request with its body; return b"" if the client left too early."""
        while b"\r\n\r\n" not in self._unread:
            if not self._receive():
                return b""
        head = bytes(self._unread.partition(b"\r\n\r\n")[0])
        length = len(head) + 4 + _content_length(head)
        while len(self._unread) < length:
            if not self._receive():
                return b""
        request = bytes(self._unread[:length])
        del self._unread[:length]
        self._server.requests.append(request)
        return request

    def _receive(self) -> bool:
        try:
            received = self._sock.recv(65536)
        except OSError:
            received = b""
        self._server.received += received
        self._unread += received
        return bool(received)

    def write(self, data: bytes) -> None:
        """Send `data`. A client that disconnects is not an error of the script."""
        try:
            self._sock.sendall(data)
        except OSError:
            self._server.was_cut_off.set()

    def drip(self, data: bytes) -> None:
        """Send one byte at a time, slowly and endlessly, until the client leaves."""
        for byte in data:
            self.write(bytes([byte]))
            if self._server.was_cut_off.is_set() or self._closed_within(0.02):
                return
        raise AssertionError("the client did not disconnect")

    def stall(self) -> None:
        """Send nothing more, until the client leaves."""
        patience_ends_at = time.monotonic() + PATIENCE_S
        while not self._closed_within(1.0):
            if time.monotonic() > patience_ends_at:
                raise AssertionError("the client stayed")

    def ends_with_reset(self) -> bool:
        """Read until the client disconnects; return whether it reset the connection."""
        try:
            while self._sock.recv(65536):
                pass
        except ConnectionResetError:
            return True
        return False

    def reset(self) -> None:
        """End the connection with a reset instead of a normal close."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def secure(self, context: ssl.SSLContext) -> None:
        """Start TLS."""
        self._sock = context.wrap_socket(self._sock, server_side=True)

    def close(self) -> None:
        """Close the connection normally, unless the script has called `reset`."""
        self._sock.close()

    def _closed_within(self, seconds: float) -> bool:
        readable, _, _ = select.select([self._sock], [], [], seconds)
        if readable and not self._receive():
            self._server.was_cut_off.set()
        return self._server.was_cut_off.is_set()


Script = Callable[[Conversation], None]


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


class ScriptedServer:
    """A server with a script for each connection; an extra connection fails the test.

    `requests` lists the complete requests. `received` contains every received byte, after TLS
    decryption. `was_cut_off` is set when a script has seen its client disconnect.
    """

    def __init__(self, *scripts: Script, secure: bool = False) -> None:
        self.requests: list[bytes] = []
        self.received = bytearray()
        self.connections = 0
        self.was_cut_off = threading.Event()
        self._scripts = scripts
        self._context: ssl.SSLContext | None = None
        if secure:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(CERTIFICATE)
        self._faults: list[AssertionError] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self._is_open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        scheme = "https" if self._context else "http"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_open = False
        self._thread.join()
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        if error is None and self._faults:
            raise self._faults[0]

    def _serve(self) -> None:
        while True:
            is_last_look = not self._is_open
            try:
                sock, _ = self._listener.accept()
            except TimeoutError:
                if is_last_look:
                    return
                continue
            self.connections += 1
            if self.connections > len(self._scripts):
                self._faults.append(AssertionError(f"connection {self.connections} has no script"))
                sock.close()
                continue
            script = self._scripts[self.connections - 1]
            thread = threading.Thread(target=self._play, args=(script, sock), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _play(self, script: Script, sock: socket.socket) -> None:
        conversation = Conversation(self, sock)
        try:
            if self._context:
                conversation.secure(self._context)
            script(conversation)
        except OSError:
            # The client has disconnected during TLS.
            self.was_cut_off.set()
        except AssertionError as fault:
            self._faults.append(fault)
        finally:
            conversation.close()
