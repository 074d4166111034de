"""Start, watch and end the processes of the demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import requests
from django.conf import settings

from newsletter_site.demo.terminal import DemoError, Terminal

ENDING_S = 15.0
POLL_S = 0.05
LAST_LINES = 8


class Children:
    """The processes of one demo, with their logs in `folder`.

    When the block ends, all processes end.
    """

    def __init__(self, folder: Path, terminal: Terminal) -> None:
        self.folder = folder
        self.terminal = terminal
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Children:
        return self

    def start(self, name: str, *command: str, environment: Mapping[str, str]) -> None:
        log = self._log(name)
        log.unlink(missing_ok=True)  # An earlier log file may belong to another user.
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "newsletter_site.demo.run_as_child", *command],
                stdin=subprocess.PIPE,  # The child ends when this pipe is closed.
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=settings.BASE_DIR,
                env=environment,
                start_new_session=True,  # Ctrl-C must reach only the demo, which ends this child
            )

    def wait_for(self, url: str) -> None:
        """Wait until a child answers at `url`. Raise `DemoError` if a child ends."""
        while True:
            self.pause()
            with suppress(requests.ConnectionError):
                requests.get(url, timeout=ENDING_S)
                return

    def pause(self) -> None:
        """Wait a moment.

        Raise `DemoError` if a child has ended, or `StoppedError` at a signal.
        """
        self.check()
        self.terminal.pause()

    def check(self) -> None:
        """Raise `DemoError` if a child has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                log = self._log(name)
                lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
                raise DemoError(
                    f"The demo ends, because the {name} has ended with code {process.returncode}. "
                    f"Its output is in {log}:" + "".join(f"\n    {line}" for line in lines)
                )

    def __exit__(self, *_: object) -> None:
        # The sandbox was started first and ends last, so that calls in flight get a response.
        processes = list(self._running.values())
        for group in (processes[1:], processes[:1]):
            for process in group:
                process.terminate()
            deadline = time.monotonic() + ENDING_S
            while running := [process for process in group if process.poll() is None]:
                if len(self.terminal.signals) > 1 or time.monotonic() > deadline:
                    for process in running:
                        os.killpg(process.pid, signal.SIGKILL)
                time.sleep(POLL_S)

    def _log(self, name: str) -> Path:
        return self.folder / f"demo-{name.replace(' ', '-')}.log"
