"""A real `manage.py migrate` of a later release, whose every line is read as it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class WatchedMigrate:
    """One run. `said` is all that it wrote."""

    def __init__(self, database_url: str, *options: str, **settings: str) -> None:
        self._news = threading.Condition()
        self._said = ""
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "--noinput", *options],
            cwd=ROOT,
            env=os.environ
            | {
                "DATABASE_URL": database_url,
                "DJANGO_SETTINGS_MODULE": "tests.faults.later.settings",
                "PYTHONUNBUFFERED": "1",
                "MIGRATE_LOCK_TIMEOUT_S": "0.2",
                "MIGRATE_PATIENCE_S": "100",
            }
            | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            while words := output.read(1):
                with self._news:
                    self._said += words
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    @property
    def said(self) -> str:
        """All that it said so far."""
        with self._news:
            return self._said

    def wait_for(self, words: str, times: int = 1, timeout_s: float = 60) -> None:
        """Wait until it has said `words` so many times; fails the test if it does not."""

        def heard() -> bool:
            return self._said.count(words) >= times

        with self._news:
            self._news.wait_for(lambda: heard() or not self._listener.is_alive(), timeout_s)
            assert heard(), f"It did not say {words!r} {times} times:\n{self._said}"

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def end(self, exit_code: int = 0, timeout_s: float = 100) -> None:
        """Wait for its end; fails the test if it ends otherwise than expected."""
        code = self._process.wait(timeout_s)
        self._listener.join(timeout_s)
        assert code == exit_code, self.said

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
