"""A TCP proxy that forwards bytes. Subclasses can hold bytes or cut connections."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

PIECE_BYTES = 256 * 1024


@dataclass
class Line:
    """One connection: `near` is the client's end, `far` is the server's end."""

    near: socket.socket
    far: socket.socket
    seen: list[bytes] = field(default_factory=list)
    is_marked: bool = False  # a subclass decides what the mark means

    def end(self) -> None:
        """Close both ends cleanly."""
        for end in (self.near, self.far):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Reset both ends, as if a device between them had forgotten the connection."""
        for end in (self.near, self.far):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end()


class Relay:
    """A listener on a port of this machine that forwards to the target of `connect`."""

    def __init__(self, connect: Callable[[], socket.socket], receive_buffer: int = 0) -> None:
        self._connect = connect
        self._listener = socket.socket()
        if receive_buffer:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(64)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections. Open connections stay until one side closes them."""
        self._listener.close()

    def passes_request(self, line: Line, piece: bytes) -> bool:
        """Return whether this piece reaches the server; otherwise the connection is cut."""
        return True

    def passes_answer(self, line: Line) -> bool:
        """Return whether to forward this piece of an answer to the client.

        If the piece is not forwarded, the connection is cut.
        """
        return True

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                line = Line(near, self._connect())
            except OSError:
                near.close()
                continue
            threading.Thread(target=self._carry, args=(line,), daemon=True).start()

    def _carry(self, line: Line) -> None:
        def passes_answer(_: bytes) -> bool:
            return self.passes_answer(line)

        back = threading.Thread(target=_pass, args=(line, line.far, line.near, passes_answer))
        back.daemon = True
        back.start()
        self._pass_requests(line)
        back.join()
        line.near.close()
        line.far.close()

    def _pass_requests(self, line: Line) -> None:
        _pass(line, line.near, line.far, lambda piece: self.passes_request(line, piece))


def _pass(
    line: Line, here: socket.socket, there: socket.socket, passes: Callable[[bytes], bool]
) -> None:
    with contextlib.suppress(OSError):
        while piece := here.recv(PIECE_BYTES):
            if not passes(piece):
                line.cut()
                return
            there.sendall(piece)
    line.end()
