"""
A line to PostgreSQL that can be cut at an exact point: TCP on one side, the server on the other.

It reads what goes by, so that a test can lose a statement before the server has it, or the answer
to it after the server has done it: then nobody on this side knows whether it was done.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from dataclasses import dataclass, field

NOTICED_BYTES = 256 * 1024


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


@dataclass
class _Line:
    near: socket.socket
    far: socket.socket
    seen: list[bytes] = field(default_factory=list)
    loses_the_answer: bool = False

    def cut(self) -> None:
        """A reset on both sides, as when something in between forgets the connection."""
        for end in (self.near, self.far):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class CuttingProxy:
    """Listens on a port of this machine and passes everything on to a Unix socket."""

    def __init__(self, far: str, *, seed: int = 0) -> None:
        self._far = far
        self._lock = threading.Lock()
        self._dice = random.Random(seed)
        self._cuts: list[Cut] = []
        self._chance = 0.0
        self.cuts_made = 0
        self._changed = threading.Condition(self._lock)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, password: str, database: str) -> str:
        """The DATABASE_URL that leads through it."""
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    # --- What is to be cut ---------------------------------------------------------------------

    def cut(self, at: bytes, *, after: bytes = b"", answer: bool = False, times: int = 1) -> Cut:
        """Cut lines at a statement; see `Cut`."""
        cut = Cut(at, after, answer, times)
        with self._lock:
            self._cuts.append(cut)
        return cut

    def cut_at_random(self, chance: float) -> None:
        """From now on each piece that goes by, either way, is lost with this chance."""
        with self._lock:
            self._chance = chance

    def wait_for_cuts(self, count: int, timeout_s: float = 60) -> bool:
        """Wait until so many lines were cut; whether they were."""
        with self._changed:
            return self._changed.wait_for(lambda: self.cuts_made >= count, timeout_s)

    def close(self) -> None:
        """Take no more lines. Those that are open end with either of their ends."""
        self._listener.close()

    # --- Passing on ----------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self._far)
            except OSError:
                near.close()
                far.close()
                continue
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = _Line(near, far)
            there = threading.Thread(target=self._pass_statements, args=(line,), daemon=True)
            back = threading.Thread(target=self._pass_answers, args=(line,), daemon=True)
            there.start()
            back.start()
            threading.Thread(target=_close_after, args=(line, there, back), daemon=True).start()

    def _pass_statements(self, line: _Line) -> None:
        while piece := _received(line.near):
            if self._is_lost_before_the_server(line, piece):
                line.cut()
                return
            if not _sent(line.far, piece):
                break
        _end(line)

    def _pass_answers(self, line: _Line) -> None:
        while piece := _received(line.far):
            if line.loses_the_answer or self._chance_strikes():
                if line.loses_the_answer:
                    self._count()
                line.cut()
                return
            if not _sent(line.near, piece):
                break
        _end(line)

    def _is_lost_before_the_server(self, line: _Line, piece: bytes) -> bool:
        with self._lock:
            for cut in self._cuts:
                ready = not cut.after or any(cut.after in seen for seen in line.seen)
                if cut.made < cut.times and ready and cut.at in piece:
                    cut.made += 1
                    line.seen.clear()
                    if cut.answer:
                        line.loses_the_answer = True
                        return False
                    self.cuts_made += 1
                    self._changed.notify_all()
                    return True
            if b"COMMIT" in piece or b"ROLLBACK" in piece:
                line.seen.clear()
            else:
                line.seen.append(piece[:NOTICED_BYTES])
        return self._chance_strikes()

    def _chance_strikes(self) -> bool:
        with self._lock:
            if self._dice.random() >= self._chance:
                return False
            self.cuts_made += 1
            self._changed.notify_all()
            return True

    def _count(self) -> None:
        with self._lock:
            self.cuts_made += 1
            self._changed.notify_all()


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(NOTICED_BYTES)
    except OSError:
        return b""


def _sent(end: socket.socket, piece: bytes) -> bool:
    try:
        end.sendall(piece)
    except OSError:
        return False
    return True


def _end(line: _Line) -> None:
    for end in (line.near, line.far):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _close_after(line: _Line, *threads: threading.Thread) -> None:
    for thread in threads:
        thread.join()
    line.near.close()
    line.far.close()
