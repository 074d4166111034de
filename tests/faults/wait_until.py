"""Wait for a result of another process by polling."""

import threading
import time
from collections.abc import Callable

from postmark_sandbox.server import SandboxServer

PATIENCE_S = 100
LOOK_EVERY_S = 0.02


def held(provider: SandboxServer, calls: int = 1) -> None:
    """Wait until the provider holds `calls` calls."""
    gate = provider.sandbox.gate
    assert gate.wait_until(lambda: gate.held == calls, PATIENCE_S)


def accepted(provider: SandboxServer, copies: int) -> None:
    """Wait until the provider has accepted `copies` copies."""
    sandbox = provider.sandbox
    assert sandbox.gate.wait_until(
        lambda: bool(sandbox.outbox.counts()["accepted"] >= copies), PATIENCE_S
    )


def eventually(so: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true; fail the test otherwise."""
    nothing = threading.Event()
    end = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < end, f"Not in time: {what}."
        nothing.wait(LOOK_EVERY_S)
