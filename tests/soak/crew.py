"""
The workers of a proof: real `deliver` processes, begun, killed and stopped.

They are forked by tests/faults/nursery.py, which has everything loaded: a worker that lives for a
second or two before it is killed shall spend it at work.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.own_cluster import ROOT

PATIENCE_S = 120
LAST_WORDS = 30


class Crew:
    """So many workers at any time. `log` is the file that holds what they say."""

    def __init__(self, database_url: str, provider_url: str, log: Path, **settings: str) -> None:
        self.log = log
        self.kills = 0
        self._news = threading.Condition()
        self._begun: list[int] = []
        self._statuses: dict[int, int] = {}
        self._running: list[int] = []
        with log.open("a") as said:
            self._nursery = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.nursery"],
                cwd=ROOT,
                env=os.environ
                | {"DATABASE_URL": database_url, "POSTMARK_BASE_URL": provider_url}
                | settings,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._nursery.stdout is not None
        with self._nursery.stdout as lines:
            for line in lines:
                word, pid, *status = line.split()
                with self._news:
                    if word == "began":
                        self._begun.append(int(pid))
                    else:
                        self._statuses[int(pid)] = int(status[0])
                    self._news.notify_all()

    def begin(self, workers: int = 1) -> None:
        """Begin so many more workers."""
        assert self._nursery.stdin is not None
        with self._news:
            known = len(self._begun)
            self._nursery.stdin.write("\n" * workers)
            self._nursery.stdin.flush()
            if not self._news.wait_for(lambda: len(self._begun) == known + workers, PATIENCE_S):
                raise RuntimeError("no worker began")
            self._running += self._begun[known:]

    def kill_one(self, dice: random.Random) -> None:
        """kill -9 for one of them, whichever the dice say, and another in its place."""
        self.kill(self._running[dice.randrange(len(self._running))])

    def kill(self, unlucky: int) -> None:
        """kill -9 for this process, and another in its place."""
        os.kill(unlucky, signal.SIGKILL)
        self._running.remove(unlucky)
        self._wait_for([unlucky])
        self.kills += 1
        self.begin()

    def running(self) -> list[int]:
        """The process ids of those that nobody has killed or stopped."""
        return list(self._running)

    def deaths_of_their_own(self) -> int:
        """How many workers have ended that nobody killed or stopped."""
        with self._news:
            return sum(pid in self._statuses for pid in self._running)

    def stop(self) -> list[int]:
        """SIGTERM for all; their exit statuses."""
        stopping, self._running = self._running, []
        for pid in stopping:
            os.kill(pid, signal.SIGTERM)
        return self._wait_for(stopping)

    def _wait_for(self, pids: list[int]) -> list[int]:
        with self._news:
            if not self._news.wait_for(lambda: set(pids) <= set(self._statuses), PATIENCE_S):
                raise RuntimeError("a worker that was told to end is still there")
            return [self._statuses[pid] for pid in pids]

    def end(self) -> None:
        """End whatever is left, and the nursery."""
        for pid in self._running:
            if pid not in self._statuses:
                os.kill(pid, signal.SIGKILL)
        assert self._nursery.stdin is not None
        self._nursery.stdin.close()
        self._nursery.wait(PATIENCE_S)
        self._listener.join(PATIENCE_S)

    def last_words(self) -> str:
        """The last lines of what they said."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LAST_WORDS:])
