"""Run the sandbox as a separate program, and call its control API."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests

from benchmarks.site.provider_process import ROOT

LONGEST_ANSWER_S = 90.0


class Sandbox:
    """A running sandbox and its address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._line = requests.Session()
        self._line.trust_env = False  # ignore proxies that the environment names

    def set_fault(self, kind: str, **settings: Any) -> None:
        """Set a fault; see docs/sandbox.md."""
        self._control("POST", "faults", json={"kind": kind, **settings})

    def wait_until_held(self, calls: int) -> None:
        """Wait until the sandbox holds `calls` calls."""
        self._control("GET", f"wait?held={calls}&timeout=60")

    def summary(self) -> dict[str, Any]:
        """Return the counts of accepted and refused messages."""
        return dict(self._control("GET", "summary"))

    def _control(self, method: str, name: str, json: Any = None) -> Any:
        answer = self._line.request(
            method, f"{self.url}/__sandbox__/{name}", json=json, timeout=LONGEST_ANSWER_S
        )
        answer.raise_for_status()
        return answer.json()


@contextmanager
def a_sandbox(*options: str) -> Iterator[Sandbox]:
    """Run a sandbox with these options for the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "postmark_sandbox", "--port", "0", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Sandbox(process.stdout.readline().split()[-1].rstrip("/"))
    finally:
        # Kill the sandbox, because held calls would keep it from ending cleanly.
        process.kill()
        process.communicate()
