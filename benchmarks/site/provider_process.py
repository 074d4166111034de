"""The provider of the benchmarks, started, asked what came, and started anew."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

ROOT = Path(__file__).resolve().parents[2]
# Counting who was sent two reads a million keys.
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Counts:
    """
    What came since it began: calls, messages and the length of their JSON in bytes.

    `readers` are different copies, 0 if nothing was kept.
    """

    calls: int
    messages: int
    bytes: int
    readers: int


class ProviderProcess:
    """A `benchmarks.site.provider`, whose address changes with each start."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._address = ""
        # An environment that names a proxy does not mean this one.
        self._opener = build_opener(ProxyHandler({}))

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._address

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

    def start(self, *, delay_ms: float = 0.0, keep: bool = False) -> str:
        """Begin, or begin anew with nothing counted; its address."""
        self.stop()
        command = [sys.executable, "-m", "benchmarks.site.provider", "--delay-ms", f"{delay_ms:g}"]
        self._process = subprocess.Popen(
            [*command, *(["--keep"] if keep else [])],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self._address = self._process.stdout.readline().strip()
        if not self._address:
            self.stop()
            raise RuntimeError("The provider did not begin.")
        return self._address

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def counts(self) -> Counts:
        """What came since its start."""
        told = self._told("/counts")
        return Counts(told["calls"], told["messages"], told["bytes"], told.get("readers", 0))

    def twice(self) -> list[str]:
        """Some of the copies that came twice; it has to have been started with `keep`."""
        return [str(key) for key in self._told("/twice")["such_as"]]

    def _told(self, path: str) -> dict[str, Any]:
        with self._opener.open(self._address + path, timeout=PATIENCE_S) as answer:
            told: dict[str, Any] = json.load(answer)
        return told


@contextmanager
def a_provider(*, delay_ms: float = 0.0, keep: bool = False) -> Iterator[ProviderProcess]:
    """One that runs as long as the block."""
    provider = ProviderProcess()
    try:
        provider.start(delay_ms=delay_ms, keep=keep)
        yield provider
    finally:
        provider.stop()
