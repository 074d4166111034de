"""The sandbox, a Postmark for one machine, as a program; asked and told over its control API."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests

from benchmarks.site.site import ROOT

LONGEST_ANSWER_S = 90.0


class Sandbox:
    """One that runs, at its address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._line = requests.Session()
        self._line.trust_env = False  # an environment that names a proxy does not mean this one

    def set_fault(self, kind: str, **settings: Any) -> None:
        """Have it go wrong; docs/sandbox.md says how."""
        self._control("POST", "faults", json={"kind": kind, **settings})

    def wait_until_held(self, calls: int) -> None:
        """Wait until it holds so many calls."""
        self._control("GET", f"wait?held={calls}&timeout=60")

    def summary(self) -> dict[str, Any]:
        """What it has accepted and refused so far."""
        return dict(self._control("GET", "summary"))

    def _control(self, method: str, name: str, json: Any = None) -> Any:
        answer = self._line.request(
            method, f"{self.url}/__sandbox__/{name}", json=json, timeout=LONGEST_ANSWER_S
        )
        answer.raise_for_status()
        return answer.json()


@contextmanager
def a_sandbox(*options: str) -> Iterator[Sandbox]:
    """A sandbox with these options, for the length of a block."""
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
        # Calls that it holds would keep it from ending in order.
        process.kill()
        process.communicate()
