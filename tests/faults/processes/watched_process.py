"""Run a real `manage.py` command, and read its output as it comes.

A thread reads the output, so that the pipe never gets full.
"""

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
    """Output that tests can read while it is written."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._output = b""
        self._has_ended = False

    def hear(self, words: bytes) -> None:
        """Add bytes to the output. Empty `words` mean that the output has ended."""
        with self._news:
            self._output += words
            self._has_ended = not words
            self._news.notify_all()

    @property
    def output(self) -> str:
        """Return all output so far."""
        with self._news:
            return self._output.decode(errors="replace")

    def wait_for(self, words: str, times: int = 1, timeout_s: float = 60) -> None:
        """Wait until `times` lines contain `words`; fail the test at the timeout."""
        wanted = words.encode()

        def heard() -> bool:
            return sum(wanted in line for line in self._output.splitlines()) >= times

        with self._news:
            self._news.wait_for(lambda: heard() or self._has_ended, timeout_s)
            assert heard(), (
                f"{words!r} appeared fewer than {times} times in:\n{self._output.decode()}"
            )


class WatchedProcess(Heard):
    """One process. `output` is the process's stderr and, on request, its stdout."""

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
        """Send SIGSTOP, and wait until the process is stopped."""
        freeze(self._process.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def is_running(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def ends_within(self, seconds: float) -> bool:
        """Return whether the process ends within this number of seconds."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, timeout_s: float = 100) -> int:
        """Wait for the end of the process; return its exit code."""
        code = self._process.wait(timeout_s)
        self._listener.join(timeout_s)
        return code

    def stop(self) -> int:
        """Send SIGTERM; return the process's exit code."""
        self.signal(signal.SIGTERM)
        return self.end()

    def kill(self) -> None:
        """Send SIGKILL, and wait until the process has ended."""
        self._process.kill()
        self.end()
