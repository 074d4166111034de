"""A line to the provider that stops in the middle of one request, until it is told to go on."""

import socket
import threading

from tests.faults.servers.tcp_proxy import Line, Relay

# Small, so that what waits in the line is not the whole request.
BUFFER_BYTES = 64 * 1024
PATIENCE_S = 100


class StallingLine(Relay):
    """Listens on a port of this machine and passes everything on to the provider's."""

    def __init__(self, provider_port: int) -> None:
        self._stalls_after: int | None = None
        self._stalls_at = b""
        self._lock = threading.Lock()
        self._stalled, self._goes_on, self._over = (threading.Event() for _ in range(3))
        super().__init__(
            lambda: socket.create_connection(("127.0.0.1", provider_port)), BUFFER_BYTES
        )
        self.url = f"http://127.0.0.1:{self.port}"

    def stall_after(self, size: int) -> None:
        """Stop once, when so many bytes of one connection went by."""
        self._stalls_after = size

    def stall_at(self, words: bytes) -> None:
        """Stop once, before the piece that holds these words."""
        self._stalls_at = words

    def wait_until_stalled(self) -> None:
        """Wait until a request stands still."""
        assert self._stalled.wait(PATIENCE_S)

    def go_on(self) -> None:
        """Let go what stands still."""
        self._goes_on.set()

    def wait_until_over(self) -> None:
        """Wait until all that stood still, and will ever come, has been passed on."""
        assert self._over.wait(PATIENCE_S)

    def close(self) -> None:
        """Take no more lines and hold none back."""
        self._goes_on.set()
        super().close()

    def passes_request(self, line: Line, piece: bytes) -> bool:
        """Hold the piece back where the test said so."""
        with self._lock:
            passed = sum(map(len, line.seen))
            line.seen.append(piece)
            after = self._stalls_after is not None and passed >= self._stalls_after
            at = bool(self._stalls_at) and self._stalls_at in piece
            stalls = (after or at) and not self._stalled.is_set()
            if stalls:
                line.is_marked = True
                self._stalled.set()
        if stalls:
            self._goes_on.wait()
        return True

    def _pass_requests(self, line: Line) -> None:
        super()._pass_requests(line)
        if line.is_marked:
            self._over.set()
