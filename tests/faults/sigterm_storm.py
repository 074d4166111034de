"""
A storm of signals: workers are told to stop at random moments, one after another, under load.

Seeded: the same seed draws the same moments. What they meet in them is the machine's doing.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from postmark_sandbox.server import SandboxServer
from tests.faults.watched_worker import TIMES

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = 6
# Of all signals, the share that meets the youngest worker.
YOUNGEST = 0.2
MOST_COPIES = 100
LONGEST_MOMENT_S = 0.05
LONGEST_WAIT_S = 2.0
PATIENCE_S = 100


class Storm:
    """Keeps workers running and stops them at random moments."""

    def __init__(self, database_url: str, provider: SandboxServer, *, seed: int) -> None:
        self._provider = provider
        self._dice = random.Random(seed)
        self._news = threading.Condition()
        self._statuses: dict[int, int] = {}
        self._begun: list[int] = []
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nursery", "--concurrency", "2"],
            cwd=ROOT,
            env=os.environ
            | TIMES
            | {
                "DATABASE_URL": database_url,
                "POSTMARK_BASE_URL": provider.url,
                "POSTMARK_SERVER_TOKEN": "sandbox",
                # Nothing may come back by itself: whatever is left behind is seen.
                "DELIVERY_HTTP_DEADLINE_S": "60",
                "DELIVERY_LEASE_S": "60",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
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

    def blow(self, signals: int, keep_loaded: Callable[[], object]) -> list[int]:
        """
        Stop so many workers, `AT_ONCE` of them running at any time; return their exit statuses.

        Most often it is the oldest, a random number of copies and a random moment after the last
        one; sometimes the youngest, which is only about to begin. `keep_loaded` is called between
        any two, to see to it that there is always work.
        """
        running: deque[int] = deque()
        for number in range(signals):
            keep_loaded()
            while len(running) < min(AT_ONCE, signals - number):
                running.append(self._begin())
            if self._dice.random() < YOUNGEST:
                pid = running.pop()
            else:
                pid = running.popleft()
                self._wait_for_copies(self._dice.randrange(MOST_COPIES))
            threading.Event().wait(self._dice.uniform(0, LONGEST_MOMENT_S))
            os.kill(pid, self._dice.choice((signal.SIGTERM, signal.SIGTERM, signal.SIGINT)))
        with self._news:
            assert self._news.wait_for(lambda: len(self._statuses) == signals, PATIENCE_S), (
                f"{len(self._statuses)} of {signals} workers have ended"
            )
            return list(self._statuses.values())

    def _wait_for_copies(self, count: int) -> None:
        """Wait until so many more copies were accepted, but not long: all may be busy stopping."""
        sandbox = self._provider.sandbox
        goal = sandbox.outbox.counts()["accepted"] + count
        sandbox.gate.wait_until(
            lambda: bool(sandbox.outbox.counts()["accepted"] >= goal), LONGEST_WAIT_S
        )

    def _begin(self) -> int:
        assert self._nursery.stdin is not None
        with self._news:
            known = len(self._begun)
            self._nursery.stdin.write("\n")
            self._nursery.stdin.flush()
            assert self._news.wait_for(lambda: len(self._begun) > known, PATIENCE_S)
            return self._begun[-1]

    def end(self) -> None:
        """End the nursery, and whatever it still has."""
        assert self._nursery.stdin is not None
        with self._news:
            left = set(self._begun) - set(self._statuses)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        with self._news:
            self._news.wait_for(lambda: len(self._statuses) == len(self._begun), PATIENCE_S)
        self._nursery.stdin.close()
        self._nursery.wait(PATIENCE_S)
        self._listener.join(PATIENCE_S)
