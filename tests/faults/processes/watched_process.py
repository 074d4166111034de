"""A real `manage.py` command whose every word is read as it comes, however much it has to say."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.freeze_process import freeze

ROOT = Path(__file__).resolve().parents[3]


class Heard:
    """What something says, as it comes."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._said = b""
        self._has_ended = False

    def hear(self, words: bytes) -> None:
        """Add words; none at its end."""
        with self._news:
            self._said += words
            self._has_ended = not words
            self._news.notify_all()

    @property
    def said(self) -> str:
        """All that it said so far."""
        with self._news:
            return self._said.decode(errors="replace")

    def wait_for(self, words: str, times: int = 1, timeout_s: float = 60) -> None:
        """Wait until so many of its lines held `words`; fails the test if they do not."""
        wanted = words.encode()

        def heard() -> bool:
            return sum(wanted in line for line in self._said.splitlines()) >= times

        with self._news:
            self._news.wait_for(lambda: heard() or self._has_ended, timeout_s)
            assert heard(), f"It did not say {words!r} {times} times:\n{self._said.decode()}"


class WatchedProcess(Heard):
    """One process. `said` is what it wrote to stderr, and where asked to stdout too."""

    def __init__(
        self,
        *command: str,
        environment: Mapping[str, str],
        code: Path = ROOT,
        reads_output: bool = False,
    ) -> None:
        super().__init__()
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=code,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            stdout=subprocess.PIPE if reads_output else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if reads_output else subprocess.PIPE,
            bufsize=0,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        stream = self._process.stderr or self._process.stdout
        assert stream is not None
        with stream:
            while words := stream.read(1_000_000):
                self.hear(words)
        self.hear(b"")

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
        """Whether it ends within so many seconds."""
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
