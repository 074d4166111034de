"""What no webhook told is asked for: bounces and suppression lists, one worker at a time."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from delivery import polling
from delivery.models import Delivery, Edition, Errand
from delivery.queue import errand
from postmark_sandbox.server import SandboxServer
from subscribers.models import Subscriber, Suppression
from tests.delivery.beside import at_once
from tests.delivery.newsroom import Newsroom, never


@pytest.fixture
def sent(newsroom: Newsroom, provider: SandboxServer) -> Edition:
    edition = newsroom.publish(readers=4)
    newsroom.deliver_all()
    return edition


def state(number: int) -> str:
    return Subscriber.objects.get(email=f"reader{number}@example.net").state


def due_again() -> None:
    Errand.objects.update(due_at="2000-01-01T00:00:00Z")


def happens(provider: SandboxServer) -> None:
    """One bounces, one complains, one leaves on Postmark's page."""
    box, after = provider.sandbox.outbox, provider.sandbox.aftermath
    after.bounce(box.message(0), "reader0@example.net")
    after.complain(box.message(1), "reader1@example.net")
    after.unsubscribe(box.message(2), "reader2@example.net")


def test_what_no_webhook_told_is_found_by_asking(
    sent: Edition, newsroom: Newsroom, provider: SandboxServer
) -> None:
    happens(provider)
    polling.poll(never)

    assert [state(number) for number in range(4)] == [
        "bounced",
        "complained",
        "unsubscribed",
        "confirmed",
    ]
    assert Suppression.objects.count() == 3
    rows = Delivery.objects.filter(issue=sent.issue_id).order_by("recipient")
    assert [bool(row.bounced_at) for row in rows] == [True, False, False, False]
    assert [bool(row.complained_at) for row in rows] == [False, True, False, False]
    assert newsroom.batch(sent).bounced == newsroom.batch(sent).complained == 1


def test_a_bounce_on_the_transactional_stream_is_found_too(
    sent: Edition, provider: SandboxServer, settings: Any
) -> None:
    provider.sandbox.aftermath.suppress(
        "outbound", "reader3@example.net", "HardBounce", "Recipient"
    )
    polling.poll(never)
    assert state(3) == "bounced"


def test_it_is_due_when_its_time_has_come_and_after_each_publication(newsroom: Newsroom) -> None:
    errand.have_a_row("poll broadcast")

    def take() -> bool:
        mine = errand.take("poll broadcast", uuid.uuid4(), lease_s=60, after_publications=True)
        if mine is not None:
            errand.done(mine, again_in_s=3600)
        return mine is not None

    assert [take(), take()] == [True, False]
    newsroom.publish(readers=1)
    assert [take(), take()] == [True, False]
    due_again()
    assert take()


def test_two_workers_never_ask_at_once(newsroom: Newsroom) -> None:
    errand.have_a_row("poll broadcast")
    taken = at_once(5, lambda: errand.take("poll broadcast", uuid.uuid4(), lease_s=60) is not None)
    assert sorted(taken) == [False] * 4 + [True]


def test_what_a_lost_worker_held_another_takes_when_its_lease_is_over(newsroom: Newsroom) -> None:
    errand.have_a_row("poll broadcast")
    lost = errand.take("poll broadcast", uuid.uuid4(), lease_s=60)
    assert lost is not None
    Errand.objects.update(lease_until="2000-01-01T00:00:00Z")
    assert errand.take("poll broadcast", uuid.uuid4(), lease_s=60) is not None
    assert not errand.hold_on(lost, lease_s=60)
    errand.done(lost, again_in_s=0)
    assert Errand.objects.get().lease_until is not None


@pytest.mark.parametrize("path", ["/bounces", "/message-streams/*/suppressions/dump"])
def test_where_the_provider_does_not_say_it_is_asked_later(
    sent: Edition, provider: SandboxServer, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    happens(provider)
    # Once for each of the two streams.
    provider.sandbox.set_fault("bad_gateway_502_html", path=path, calls=2)
    polling.poll(never)

    for failed in Errand.objects.all():
        assert (failed.failures, failed.owner, failed.through_at) == (1, None, None)
        assert failed.said
    assert "could not be asked" in caplog.text
    polling.poll(never)
    assert state(2) == "confirmed"
    due_again()
    polling.poll(never)
    assert state(2) == "unsubscribed"
    assert [row.failures for row in Errand.objects.all()] == [0, 0]
