"""Start and kill real `deliver` processes many times.

worker_fork_server.py forks the workers. This server has already loaded all code. So a worker starts
work at once, even a worker that is killed after a second or two.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.postgres_cluster import ROOT

PATIENCE_S = 120
LAST_WORDS = 30
# A worker is killed by its process id, so all its work must be in one process.
COMMON = {"POSTMARK_SERVER_TOKEN": "sandbox", "DELIVERY_PROCESSES": "1"}


class Crew:
    """Workers that share `options` and `settings`. `log` gets their output."""

    def __init__(
        self, database_url: str, provider_url: str, log: Path, *options: str, **settings: str
    ) -> None:
        self.kills = 0
        self.running: list[int] = []  # workers that were neither killed nor stopped
        self._log = log
        self._news = threading.Condition()
        self._begun: list[int] = []
        self._statuses: dict[int, int] = {}
        addresses = {"DATABASE_URL": database_url, "POSTMARK_BASE_URL": provider_url}
        with log.open("a") as output_file:
            self._nursery = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.processes.worker_fork_server", *options],
                cwd=ROOT,
                env=os.environ | COMMON | addresses | settings,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output_file,
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

    def begin(self, workers: int = 1) -> list[int]:
        """Start `workers` more workers; return their process ids."""
        assert self._nursery.stdin is not None
        with self._news:
            known = len(self._begun)
            self._nursery.stdin.write("\n" * workers)
            self._nursery.stdin.flush()
            if not self._news.wait_for(lambda: len(self._begun) == known + workers, PATIENCE_S):
                raise RuntimeError("no worker started")
            self.running += self._begun[known:]
            return self._begun[known:]

    def kill_one(self, dice: random.Random) -> None:
        """Kill one worker with SIGKILL and start another in its place."""
        unlucky = self.running.pop(dice.randrange(len(self.running)))
        with contextlib.suppress(ProcessLookupError):  # the worker may have ended already
            os.kill(unlucky, signal.SIGKILL)
        self.statuses([unlucky])
        self.kills += 1
        self.begin()

    def send_signal(self, pid: int, number: signal.Signals) -> None:
        """Send one worker a signal that ends it."""
        self.running.remove(pid)
        os.kill(pid, number)

    def ended_alone(self) -> int:
        """Return the number of workers that ended without being killed or stopped."""
        with self._news:
            return sum(pid in self._statuses for pid in self.running)

    def stop(self) -> list[int]:
        """Send SIGTERM to all; return their exit statuses."""
        stopping = list(self.running)
        for pid in stopping:
            self.send_signal(pid, signal.SIGTERM)
        return self.statuses(stopping)

    def statuses(self, pids: list[int]) -> list[int]:
        """Wait until these processes have ended; return their exit statuses."""
        with self._news:
            if not self._news.wait_for(lambda: set(pids) <= set(self._statuses), PATIENCE_S):
                left = sorted(set(pids) - set(self._statuses))
                raise RuntimeError(f"workers still run after the signal to end: {left}")
            return [self._statuses[pid] for pid in pids]

    def close(self) -> None:
        """Kill the remaining workers, and end the fork server."""
        with self._news:
            left = set(self._begun) - set(self._statuses)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.statuses(list(left))
        assert self._nursery.stdin is not None
        self._nursery.stdin.close()
        self._nursery.wait(PATIENCE_S)
        self._listener.join(PATIENCE_S)

    def last_lines(self) -> str:
        """Return the last lines of the workers' output."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-LAST_WORDS:])
