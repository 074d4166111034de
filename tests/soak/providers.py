"""The providers of the proofs, each in a process of its own: the sandbox, and one that is quick."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benchmarks.provider_process import a_provider
from tests.own_cluster import ROOT


class Sandbox:
    """The sandbox as a program, asked over its control API."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self.url = url

    def summary(self) -> dict[str, Any]:
        """What it has accepted and refused so far."""
        with urlopen(f"{self.url}/__sandbox__/summary", timeout=60) as answer:  # noqa: S310
            summary: dict[str, Any] = json.load(answer)
        return summary

    def memory_mb(self) -> float:
        """What it holds in memory, in MB, where the system tells; otherwise 0."""
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            return 0.0
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1000
        return 0.0


@contextmanager
def sandbox(*options: str) -> Iterator[Sandbox]:
    """A sandbox with these options, for the length of a block."""
    command = [sys.executable, "-m", "postmark_sandbox", "--port", "0", *options]
    with _listening(command) as (process, line):
        yield Sandbox(process, line.split()[-1].rstrip("/"))


@contextmanager
def quick_provider(delay_ms: float = 0.0) -> Iterator[str]:
    """A provider that checks and keeps nothing, and answers after `delay_ms`; its address."""
    with a_provider(delay_ms=delay_ms) as provider:
        yield provider.url


@contextmanager
def _listening(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{command[1:3]} did not begin")
            yield process, line
        finally:
            process.kill()
