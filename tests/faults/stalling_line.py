"""A line to the provider that stops in the middle of one request, until it is told to go on."""

from __future__ import annotations

import contextlib
import socket
import threading

PIECE = 64 * 1024
PATIENCE_S = 100


class StallingLine:
    """Listens on a port of this machine and passes everything on to the provider's."""

    def __init__(self, provider_port: int) -> None:
        self._provider_port = provider_port
        self._stalls_after: int | None = None
        self._stalls_at = b""
        self._lock = threading.Lock()
        self._stalled = threading.Event()
        self._goes_on = threading.Event()
        self._over = threading.Event()
        self._listener = socket.socket()
        # Small, so that what waits in it is not the whole request.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

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
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._provider_port))
            there = threading.Thread(target=self._pass_requests, args=(near, far), daemon=True)
            back = threading.Thread(target=_pass_on, args=(far, near), daemon=True)
            there.start()
            back.start()
            threading.Thread(
                target=_close_after, args=(near, far, there, back), daemon=True
            ).start()

    def _pass_requests(self, near: socket.socket, far: socket.socket) -> None:
        passed, stood_still = 0, False
        while piece := _received(near):
            if not stood_still and self._is_the_place(passed, piece):
                stood_still = True
                self._goes_on.wait()
            passed += len(piece)
            with contextlib.suppress(OSError):
                far.sendall(piece)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_WR)
        if stood_still:
            self._over.set()

    def _is_the_place(self, passed: int, piece: bytes) -> bool:
        with self._lock:
            after = self._stalls_after is not None and passed >= self._stalls_after
            at = bool(self._stalls_at) and self._stalls_at in piece
            if self._stalled.is_set() or not (after or at):
                return False
            self._stalled.set()
            return True


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(PIECE)
    except OSError:
        return b""


def _pass_on(here: socket.socket, there: socket.socket) -> None:
    while piece := _received(here):
        with contextlib.suppress(OSError):
            there.sendall(piece)
    with contextlib.suppress(OSError):
        there.shutdown(socket.SHUT_RDWR)


def _close_after(near: socket.socket, far: socket.socket, *threads: threading.Thread) -> None:
    for thread in threads:
        thread.join()
    near.close()
    far.close()
