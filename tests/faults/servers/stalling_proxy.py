"""A proxy that stalls in the middle of one request to the provider."""

import socket
import threading

from tests.faults.servers.tcp_proxy import Line, Relay

# The buffers are small, so that they cannot hold the whole request.
BUFFER_BYTES = 64 * 1024
PATIENCE_S = 100


class StallingLine(Relay):
    """A listener on a port of this machine that forwards to the provider."""

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
        """Stall once, when `size` bytes of one connection were forwarded."""
        self._stalls_after = size

    def stall_at(self, words: bytes) -> None:
        """Stall once, before forwarding the piece that contains `words`."""
        self._stalls_at = words

    def wait_until_stalled(self) -> None:
        """Wait until a request stalls."""
        assert self._stalled.wait(PATIENCE_S)

    def forward_stalled(self) -> None:
        """Forward the stalled pieces."""
        self._goes_on.set()

    def wait_until_forwarded(self) -> None:
        """Wait until the stalled pieces and all following ones have been forwarded."""
        assert self._over.wait(PATIENCE_S)

    def close(self) -> None:
        """Accept no more connections, and forward the pieces that are held back."""
        self._goes_on.set()
        super().close()

    def passes_request(self, line: Line, piece: bytes) -> bool:
        """Hold the piece back if the test asked to stall here."""
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
