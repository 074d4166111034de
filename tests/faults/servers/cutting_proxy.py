"""PostgreSQL proxy that cuts a connection at an exact point.

It reads the traffic. So a test can lose a statement before the server has it, or the answer after
the statement was executed. Then the client cannot know whether it was executed.
"""

import random
import socket
import threading
from dataclasses import dataclass

from tests.faults.servers.tcp_proxy import Line, Relay


@dataclass
class Cut:
    """The statement at which a connection is cut.

    The statement contains `at`. With `after`, the connection has already carried that text.

    `answer`: the server executes the statement; only its answer is lost.
    """

    at: bytes
    after: bytes = b""
    answer: bool = False
    times: int = 1
    made: int = 0


class CuttingProxy(Relay):
    """Listener on a port of this machine that forwards to a Unix socket."""

    def __init__(self, far: str, *, seed: int = 0) -> None:
        self._changed = threading.Condition()
        self._dice = random.Random(seed)
        self._cuts: list[Cut] = []
        self._chance = 0.0
        self.cuts_made = 0

        def connect() -> socket.socket:
            end = socket.socket(socket.AF_UNIX)
            end.connect(far)
            return end

        super().__init__(connect)

    def url(self, password: str, database: str) -> str:
        """Return the DATABASE_URL that leads through it."""
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def cut(self, at: bytes, *, after: bytes = b"", answer: bool = False, times: int = 1) -> Cut:
        """Cut connections at a statement; see `Cut`."""
        cut = Cut(at, after, answer, times)
        with self._changed:
            self._cuts.append(cut)
        return cut

    def cut_at_random(self, chance: float) -> None:
        """Lose each later piece, in either direction, with this probability."""
        with self._changed:
            self._chance = chance

    def wait_for_cuts(self, count: int, timeout_s: float = 60) -> bool:
        """Wait until `count` connections were cut; return whether they were."""
        with self._changed:
            return self._changed.wait_for(lambda: self.cuts_made >= count, timeout_s)

    def passes_request(self, line: Line, piece: bytes) -> bool:
        """Cut at a statement that a test named, or at random."""
        with self._changed:
            for cut in self._cuts:
                ready = not cut.after or any(cut.after in seen for seen in line.seen)
                if cut.made < cut.times and ready and cut.at in piece:
                    cut.made += 1
                    line.seen.clear()
                    line.is_marked = cut.answer
                    return cut.answer or self._counted()
            if b"COMMIT" in piece or b"ROLLBACK" in piece:
                line.seen.clear()
            else:
                line.seen.append(piece)
            return self._dice.random() >= self._chance or self._counted()

    def passes_answer(self, line: Line) -> bool:
        """Cut at an answer that must be lost, or at random."""
        with self._changed:
            lost = line.is_marked or self._dice.random() < self._chance
            return not lost or self._counted()

    def _counted(self) -> bool:
        """Count a cut; return False, as the piece is not forwarded."""
        self.cuts_made += 1
        self._changed.notify_all()
        return False
