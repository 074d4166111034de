"""What the tests of delivery stand on: a real provider to send to, and a list to send from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom


@pytest.fixture
def provider(settings: object) -> Iterator[SandboxServer]:
    """A Postmark that keeps every message it accepts, at the address the settings name."""
    with SandboxServer() as server:
        settings.POSTMARK_BASE_URL = server.url  # type: ignore[attr-defined]
        settings.POSTMARK_SERVER_TOKEN = "sandbox"  # type: ignore[attr-defined]
        yield server


@pytest.fixture
def newsroom(transactional_db: None, settings: object) -> Newsroom:
    """An author with a list, and settings under which nothing waits longer than it must."""
    settings.DELIVERY_HTTP_DEADLINE_S = 5.0  # type: ignore[attr-defined]
    settings.DELIVERY_LEASE_S = 5.0  # type: ignore[attr-defined]
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0, 900.0)  # type: ignore[attr-defined]
    settings.DELIVERY_RETRY_BASE_S = 5.0  # type: ignore[attr-defined]
    return Newsroom()
