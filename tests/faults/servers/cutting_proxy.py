"""
A line to PostgreSQL that can be cut at an exact point: TCP on one side, the server on the other.

It reads what goes by, so that a test can lose a statement before the server has it, or the answer
to it after the server has done it: then nobody on this side knows whether it was done.
"""

import random
import socket
import threading
from dataclasses import dataclass

from tests.faults.servers.tcp_proxy import Line, Relay


@dataclass
class Cut:
    """
    Where to cut: at the statement that holds `at`, once `after` went over the same line before.

    `answer`: the statement reaches the server and is done; only the answer is lost.
    """

    at: bytes
    after: bytes = b""
    answer: bool = False
    times: int = 1
    made: int = 0


class CuttingProxy(Relay):
    """Listens on a port of this machine and passes everything on to a Unix socket."""

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
        """The DATABASE_URL that leads through it."""
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def cut(self, at: bytes, *, after: bytes = b"", answer: bool = False, times: int = 1) -> Cut:
        """Cut lines at a statement; see `Cut`."""
        cut = Cut(at, after, answer, times)
        with self._changed:
            self._cuts.append(cut)
        return cut

    def cut_at_random(self, chance: float) -> None:
        """From now on each piece that goes by, either way, is lost with this chance."""
        with self._changed:
            self._chance = chance

    def wait_for_cuts(self, count: int, timeout_s: float = 60) -> bool:
        """Wait until so many lines were cut; whether they were."""
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
        """Cut where the answer is to be lost, or at random."""
        with self._changed:
            lost = line.is_marked or self._dice.random() < self._chance
            return not lost or self._counted()

    def _counted(self) -> bool:
        """Count a cut; False, as the piece does not pass."""
        self.cuts_made += 1
        self._changed.notify_all()
        return False
