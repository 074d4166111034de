"""The only place that starts and ends the processes of the demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from newsletter_site.demo.failure import DemoError

ENDING_S = 15.0
POLL_S = 0.05
LAST_LINES = 8


@dataclass(frozen=True)
class Child:
    """A running program of the demo, and the file that holds what it says."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self.process.poll() is not None

    def words(self) -> str:
        """What it has said so far."""
        return self.log.read_text(errors="replace")

    def death(self) -> DemoError:
        """That it ended, and its last lines."""
        last = [f"    {line}" for line in self.words().splitlines()[-LAST_LINES:]]
        return DemoError(
            f"The {self.name} has ended with code {self.process.returncode}, so the demo ends too; "
            f"its last words are in {self.log}" + "\n".join([":", *last] if last else ["."])
        )


class Children:
    """
    The processes of one demo. A context manager: whatever was started ends with it.

    `keep_open` are descriptors that every child inherits; `in_a_hurry` says whether ending may be
    rough.
    """

    def __init__(
        self, *, cwd: Path, logs: Path, keep_open: Iterable[int], in_a_hurry: Callable[[], bool]
    ) -> None:
        self._cwd = cwd
        self._logs = logs
        self._keep_open = tuple(keep_open)
        self._in_a_hurry = in_a_hurry
        self._running: list[Child] = []

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(
        self,
        name: str,
        *command: str,
        environment: Mapping[str, str],
        keep_open: Iterable[int] = (),
    ) -> Child:
        """Start a Python module with its arguments; see `child` for what it runs in."""
        log = self._logs / f"demo-{name.replace(' ', '-')}.log"
        log.unlink(missing_ok=True)  # It may be another user's, in a folder of ours.
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "newsletter_site.demo.child", *command],
                stdin=subprocess.PIPE,  # Never written to: its end tells the child that we ended.
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=self._cwd,
                env=dict(environment),
                pass_fds=(*self._keep_open, *keep_open),
                start_new_session=True,  # Ctrl-C in the terminal is for the demo alone.
            )
        child = Child(name, process, log)
        self._running.append(child)
        return child

    def forget(self, child: Child) -> None:
        """This one has ended, and that is all right."""
        self._running.remove(child)
        _close_pipe(child)

    def check(self) -> None:
        """Raise `DemoError` if one of them has ended."""
        for child in self._running:
            if child.has_ended:
                raise child.death()

    def check_for(self, seconds: float) -> None:
        """`check`, for so long that one that is just dying is found out."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.check()
            time.sleep(POLL_S)

    def end(self) -> None:
        """
        End them all in good order. After `ENDING_S` seconds, or in a hurry, by kill -9.

        The first one started (the sandbox) ends last, so that calls in the air get their answer.
        """
        for some in (self._running[1:], self._running[:1]):
            for child in some:
                if not child.has_ended:
                    child.process.terminate()
            self._wait_for(some)
        while self._running:
            _close_pipe(self._running.pop())

    def _wait_for(self, some: list[Child]) -> None:
        deadline = time.monotonic() + ENDING_S
        while not all(child.has_ended for child in some):
            if self._in_a_hurry() or time.monotonic() > deadline:
                for child in some:
                    if not child.has_ended:
                        # Not yet reaped, so its group cannot be somebody else's by now.
                        os.killpg(child.process.pid, signal.SIGKILL)
                        child.process.wait()
            time.sleep(POLL_S)


def _close_pipe(child: Child) -> None:
    if child.process.stdin:
        child.process.stdin.close()
