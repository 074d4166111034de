"""A real `manage.py deliver` whose every line is read as it comes, however much it has to say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.freezing import freeze

ROOT = Path(__file__).resolve().parents[2]

# Short enough that what is lost comes back within the test, long enough for a busy machine.
TIMES = {
    "DELIVERY_HTTP_DEADLINE_S": "3",
    "DELIVERY_LEASE_S": "2",
    "DELIVERY_LOOKUP_AFTER_S": "0.5,1,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
    "DELIVERY_BATCH_SIZE": "50",
}


class WatchedWorker:
    """One worker process, of the code in `code`. `said` is all that it wrote to stderr."""

    def __init__(
        self,
        database_url: str,
        provider_url: str,
        *options: str,
        code: Path = ROOT,
        **settings: str,
    ):
        self._news = threading.Condition()
        self._lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "deliver", *options],
            cwd=code,
            env=os.environ
            | TIMES
            | {
                "DATABASE_URL": database_url,
                "POSTMARK_BASE_URL": provider_url,
                "POSTMARK_SERVER_TOKEN": "sandbox",
                "PYTHONUNBUFFERED": "1",
            }
            | settings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line)
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    @property
    def said(self) -> str:
        """All of its lines so far."""
        with self._news:
            return "".join(self._lines)

    def wait_for(self, words: str, times: int = 1, timeout_s: float = 60) -> None:
        """Wait until so many of its lines held `words`; fails the test if they do not."""

        def heard() -> bool:
            return sum(words in line for line in self._lines) >= times

        with self._news:
            self._news.wait_for(lambda: heard() or not self._listener.is_alive(), timeout_s)
            assert heard(), f"It did not say {words!r} {times} times:\n{''.join(self._lines)}"

    def freeze(self) -> None:
        """SIGSTOP, and wait until it stands still."""
        freeze(self._process.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

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
        """Wait for its end; its exit code."""
        code = self._process.wait(timeout_s)
        self._listener.join(timeout_s)
        return code

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return self.end()

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self._process.kill()
        self.end()
