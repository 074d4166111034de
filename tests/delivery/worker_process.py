"""A real `manage.py deliver` in a process of its own, to be watched, stopped and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.freezing import freeze

ROOT = Path(__file__).resolve().parents[2]


class WorkerProcess:
    """One worker. `output` is what it printed, once it has ended."""

    def __init__(self, database_url: str, provider_url: str, *options: str, **settings: str):
        self.output = ""
        self.errors = ""
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "deliver", *options],
            cwd=ROOT,
            env=os.environ
            | {
                "DATABASE_URL": database_url,
                "POSTMARK_BASE_URL": provider_url,
                "POSTMARK_SERVER_TOKEN": "sandbox",
                "PYTHONUNBUFFERED": "1",
            }
            | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def wait_for_line(self, words: str) -> str:
        """Read its messages until one holds `words`; fails the test if it ends before."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.errors += line
            if words in line:
                return line
        raise AssertionError(f"The worker ended without saying {words!r}:\n{self.errors}")

    def freeze(self) -> None:
        """SIGSTOP, and wait until it stands still."""
        freeze(self._process.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.communicate(timeout=30)

    def is_running(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself within so many seconds."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, timeout_s: float = 100) -> int:
        """Wait for its end and return its exit code."""
        output, errors = self._process.communicate(timeout=timeout_s)
        self.output += output
        self.errors += errors
        return self._process.returncode

    def totals(self) -> dict[str, Any]:
        """The JSON of its last line."""
        totals = json.loads(self.output.strip().splitlines()[-1])
        assert isinstance(totals, dict)
        return totals
