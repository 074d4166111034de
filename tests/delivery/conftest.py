"""Fixtures for delivery: a Postmark sandbox to send to, and a list to send from."""

from collections.abc import Iterator

import pytest

from delivery.models import Edition
from postmark_sandbox.server import SandboxServer
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import states


@pytest.fixture
def provider(settings: object) -> Iterator[SandboxServer]:
    """Start a Postmark sandbox at the address that the settings name."""
    with SandboxServer() as server:
        settings.POSTMARK_BASE_URL = server.url  # type: ignore[attr-defined]
        settings.POSTMARK_SERVER_TOKEN = "sandbox"  # type: ignore[attr-defined]
        yield server


@pytest.fixture
def newsroom(transactional_db: None, provider: SandboxServer, settings: object) -> Newsroom:
    """Make an author, a list and a provider. All waits have their shortest length."""
    settings.DELIVERY_HTTP_DEADLINE_S = 5.0  # type: ignore[attr-defined]
    settings.DELIVERY_LEASE_S = 5.0  # type: ignore[attr-defined]
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0, 900.0)  # type: ignore[attr-defined]
    settings.DELIVERY_RETRY_BASE_S = 5.0  # type: ignore[attr-defined]
    newsroom = Newsroom()
    newsroom.sandbox = provider.sandbox
    return newsroom


@pytest.fixture
def small_batches(settings: object) -> None:
    """Set the batch size to two copies."""
    settings.DELIVERY_BATCH_SIZE = 2  # type: ignore[attr-defined]


@pytest.fixture
def with_missed(newsroom: Newsroom, settings: object, small_batches: None) -> Edition:
    """Publish to six readers: one permanently refused, two missed, three sent."""
    settings.DELIVERY_MAX_ATTEMPTS = 1  # type: ignore[attr-defined]
    readers = newsroom.confirm(6, addresses={2: "invalid@bounce.example"})
    edition = newsroom.publish()
    addresses = [reader.email for reader in readers]
    newsroom.sandbox.set_fault("item_error", code=100, recipients=addresses[3:5], calls=None)
    newsroom.deliver_all()
    newsroom.sandbox.faults.clear()
    assert newsroom.outcomes(edition) == ["sent", "sent", "failed", "failed", "failed", "sent"]
    assert newsroom.counts(edition).missed == 2
    return edition


@pytest.fixture
def with_parked(newsroom: Newsroom, settings: object, small_batches: None) -> Edition:
    """Publish to two readers whose call got no answer; their copies need a decision."""
    settings.DELIVERY_UNKNOWN_POLICY = "hold"  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=2)
    newsroom.sandbox.set_fault("reset")
    newsroom.step()
    for _ in range(3):
        newsroom.let_time_pass(1000)
        newsroom.deliver_all()
    assert states(newsroom, edition) == ["parked"]
    assert newsroom.state(edition) == "needs_attention"
    return edition
