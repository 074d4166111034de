"""What a lost worker held comes back by its lease; what ends workers is found and parked."""

from __future__ import annotations

import uuid

import pytest
from django.db import OperationalError, connection

from delivery.models import Attempt, Delivery
from delivery.queue.claim import claim, claim_look_up
from delivery.queue.start import start
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom


def test_a_lease_that_still_runs_is_left_alone(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    assert claim(uuid.uuid4(), lease_s=30)

    assert newsroom.sweep() == 0


def test_a_batch_that_was_claimed_and_never_called_waits_again(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    assert claim(uuid.uuid4(), lease_s=30)
    newsroom.let_time_pass(31)

    assert newsroom.sweep() == 1

    batch = newsroom.batch(edition)
    assert (batch.state, batch.crashes) == ("ready", 1)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_a_worker_that_settles_just_before_the_sweep_wins(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    newsroom.let_time_pass(1000)

    assert newsroom.sweep() == 0
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_a_look_up_that_was_cut_off_is_done_again(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.deliver_all()
    newsroom.let_time_pass(61)
    assert claim_look_up(uuid.uuid4(), lease_s=5) is not None
    newsroom.let_time_pass(6)

    assert newsroom.sweep() == 1
    newsroom.deliver_all()

    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert provider.sandbox.summary()["accepted"] == 3


def test_a_poisonous_delivery_is_found_by_halving_and_parked_alone(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=8)
    poison = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient")[5].recipient_id

    # Whoever claims a batch with the poison in it is lost before its call.
    for _ in range(40):
        claimed = claim(uuid.uuid4(), lease_s=30)
        if claimed is None:
            break
        rows = Delivery.objects.filter(batch=claimed.batch, outcome="waiting")
        if poison in set(rows.values_list("recipient", flat=True)):
            newsroom.let_time_pass(31)
            newsroom.sweep()
        else:
            newsroom.dispatcher().deliver(claimed)

    outcomes = newsroom.outcomes(edition)
    assert outcomes == ["sent"] * 5 + ["failed"] + ["sent"] * 2
    parked = Delivery.objects.get(issue=edition.issue_id, recipient=poison)
    assert parked.reason
    assert "Parked" in parked.reason
    assert newsroom.books(edition).missed == 1
    assert newsroom.state(edition) == "needs_attention"


def test_a_delivery_that_ends_workers_during_its_call_is_parked_too(
    newsroom: Newsroom, provider: SandboxServer, settings: object
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (1.0,)  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=1)

    for _ in range(2):
        claimed = claim(uuid.uuid4(), lease_s=30)
        assert claimed is not None
        start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5)
        newsroom.let_time_pass(11)
        newsroom.sweep()
        newsroom.let_time_pass(2)
        newsroom.step()

    assert newsroom.outcomes(edition) == ["failed"]
    assert provider.sandbox.summary()["accepted"] == 0
    assert newsroom.state(edition) == "needs_attention"


def test_a_batch_whose_attempt_is_not_on_record_any_more_comes_back_all_the_same(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=1)
    claimed = claim(uuid.uuid4(), lease_s=30)
    assert claimed is not None
    start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5)
    Attempt.objects.all().delete()
    newsroom.let_time_pass(11)

    assert newsroom.sweep() == 1

    assert newsroom.outcomes(edition) == ["unknown"]


def test_a_cut_connection_is_no_crash_of_the_batch(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=1)
    worker = newsroom.dispatcher()
    for _ in range(3):
        claimed = claim(uuid.uuid4(), lease_s=30)
        assert claimed is not None
        cut_the_connection()
        with pytest.raises(OperationalError):
            worker.deliver(claimed)

    assert newsroom.batch(edition).crashes == 0
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"]


def cut_the_connection() -> None:
    """As a restarted server or a broken line would: from the other side."""
    other = connection.copy()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    other.close()
