"""A proxy for PostgreSQL that cuts a connection at an exact point.

The proxy reads the traffic. So a test can lose a statement before the server gets it, or lose the
answer after the server has executed the statement. The client cannot know whether the statement was
executed.
"""

import socket
import threading
from dataclasses import dataclass

from tests.faults.servers.tcp_proxy import Line, Relay


@dataclass
class Cut:
    """The statement at which a connection is cut.

    The statement contains `at`. With `after`, the connection must already have carried this text.

    With `answer`, the server executes the statement, and only its answer is lost.
    """

    at: bytes
    after: bytes = b""
    answer: bool = False
    made: int = 0


class CuttingProxy(Relay):
    """A listener on a port of this machine that forwards to a Unix socket."""

    def __init__(self, far: str) -> None:
        self._lock = threading.Lock()
        self._cuts: list[Cut] = []

        def connect() -> socket.socket:
            end = socket.socket(socket.AF_UNIX)
            end.connect(far)
            return end

        super().__init__(connect)

    def url(self, password: str, database: str) -> str:
        """Return the DATABASE_URL that leads through this proxy."""
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def cut(self, at: bytes, *, after: bytes = b"", answer: bool = False) -> Cut:
        """Cut a connection at a statement, once; see `Cut`."""
        cut = Cut(at, after, answer)
        with self._lock:
            self._cuts.append(cut)
        return cut

    def passes_request(self, line: Line, piece: bytes) -> bool:
        """Cut the connection at a statement that a test named."""
        with self._lock:
            for cut in self._cuts:
                ready = not cut.after or any(cut.after in seen for seen in line.seen)
                if not cut.made and ready and cut.at in piece:
                    cut.made += 1
                    line.seen.clear()
                    line.is_marked = cut.answer
                    return cut.answer
            if b"COMMIT" in piece or b"ROLLBACK" in piece:
                line.seen.clear()
            else:
                line.seen.append(piece)
            return True

    def passes_answer(self, line: Line) -> bool:
        """Cut the connection at an answer that must be lost."""
        return not line.is_marked
