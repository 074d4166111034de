"""Waits for what another process does, by looking until it is so."""

import threading
import time
from collections.abc import Callable

from postmark_sandbox.server import SandboxServer

PATIENCE_S = 100
LOOK_EVERY_S = 0.02


def held(provider: SandboxServer, calls: int = 1) -> None:
    """Wait until the provider holds so many calls."""
    gate = provider.sandbox.gate
    assert gate.wait_until(lambda: gate.held == calls, PATIENCE_S)


def accepted(provider: SandboxServer, copies: int) -> None:
    """Wait until the provider has accepted so many copies."""
    sandbox = provider.sandbox
    assert sandbox.gate.wait_until(
        lambda: bool(sandbox.outbox.counts()["accepted"] >= copies), PATIENCE_S
    )


def eventually(so: Callable[[], bool], what: str) -> None:
    """Look until it is so; fails the test if it never is."""
    nothing = threading.Event()
    end = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < end, f"It never came to pass that {what}."
        nothing.wait(LOOK_EVERY_S)
