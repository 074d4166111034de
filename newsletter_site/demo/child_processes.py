"""Start, watch and end the processes of the demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import requests

from newsletter_site.demo.terminal import StopSignals

ENDING_S = 15.0
POLL_S = 0.05
LAST_LINES = 8


class DemoError(Exception):
    """The demo cannot continue. Its text says what was found and what to do."""


class Children(AbstractContextManager["Children"]):
    """The processes of one demo; leaving the block ends them. Each inherits the file `lock`."""

    def __init__(self, cwd: Path, logs: Path, lock: int, stop: StopSignals) -> None:
        self._cwd = cwd
        self._logs = logs
        self._lock = lock
        self.stop = stop
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: str, environment: Mapping[str, str]) -> None:
        log = self._log(name)
        log.unlink(missing_ok=True)  # It may belong to another user.
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "newsletter_site.demo.child", *command],
                stdin=subprocess.PIPE,  # see `child`
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=self._cwd,
                env=dict(environment),
                pass_fds=[self._lock],
                start_new_session=True,  # Ctrl-C in the terminal is for the demo alone.
            )

    def wait_for(self, url: str) -> None:
        """Wait until a child answers at `url`. Raises `DemoError` if a child ends."""
        while True:
            self.pause()
            with suppress(requests.ConnectionError):
                requests.get(url, timeout=ENDING_S)
                return

    def pause(self) -> None:
        """Wait a moment. Raises `DemoError` if a child has ended, `StoppedError` if asked to."""
        self.check()
        self.stop.pause()

    def check(self) -> None:
        """Raise `DemoError` if a child has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                log = self._log(name)
                lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
                raise DemoError(
                    f"The {name} has ended with code {process.returncode}, so the demo ends too. "
                    f"Its output is in {log}:" + "".join(f"\n    {line}" for line in lines)
                )

    def __exit__(self, *_: object) -> None:
        # The first one started (the sandbox) ends last, so that calls in flight get a response.
        processes = list(self._running.values())
        for group in (processes[1:], processes[:1]):
            for process in group:
                process.terminate()
            deadline = time.monotonic() + ENDING_S
            while running := [process for process in group if process.poll() is None]:
                if self.stop.asked_twice or time.monotonic() > deadline:
                    for process in running:
                        os.killpg(process.pid, signal.SIGKILL)
                time.sleep(POLL_S)

    def _log(self, name: str) -> Path:
        return self._logs / f"demo-{name.replace(' ', '-')}.log"
