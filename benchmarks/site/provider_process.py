"""Start and restart the process of the benchmarks' provider, and read its counts."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

ROOT = Path(__file__).resolve().parents[2]
# The longest wait for an answer. To count readers, the provider reads a million keys.
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts since the start: calls, messages, and bytes of JSON.

    `readers` is the number of different copies. `took_s` is the time from the first call to the
    last, if the sink of a peer measured it.
    """

    calls: int
    messages: int
    bytes: int
    readers: int
    took_s: float = 0.0


class ProviderProcess:
    """The process of the provider or of a peer's sink; each start changes the address."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[str] | None = None
        self._address = ""
        # Ignore proxies that the environment names.
        self._opener = build_opener(ProxyHandler({}))

    @property
    def url(self) -> str:
        """Return the provider's address."""
        return self._address

    @property
    def pid(self) -> int:
        """Return the provider's process id."""
        assert self._process is not None
        return self._process.pid

    def start(self, *, delay_ms: float = 0.0) -> str:
        """Start or restart the provider with all counts at zero; return its address."""
        self.stop()
        options = ["--delay-ms", f"{delay_ms:g}"] if delay_ms else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module, *options],
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
        """End the process if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def counts(self) -> Counts:
        """Return the counts since the process was started."""
        with self._opener.open(f"{self._address}/counts", timeout=PATIENCE_S) as answer:
            return Counts(**json.load(answer))


@contextmanager
def a_provider(
    *, delay_ms: float = 0.0, module: str = "benchmarks.site.fake_provider"
) -> Iterator[ProviderProcess]:
    """Run a provider for the block."""
    provider = ProviderProcess(module)
    try:
        provider.start(delay_ms=delay_ms)
        yield provider
    finally:
        provider.stop()
