"""A sandbox on a real port, started anew for every test."""

from collections.abc import Iterator

import pytest

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller
from tests.postmark_sandbox.webhook_receiver import Receiver


@pytest.fixture
def server() -> Iterator[SandboxServer]:
    with SandboxServer() as running:
        yield running


@pytest.fixture
def caller(server: SandboxServer) -> Caller:
    return Caller(server.url)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@pytest.fixture
def posting(receiver: Receiver) -> Iterator[Caller]:
    """Return a caller of a sandbox that posts to the receiver."""
    with SandboxServer(webhook_url=receiver.url) as server:
        yield Caller(server.url)
