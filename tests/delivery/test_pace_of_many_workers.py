"""One pace for all workers, however many threads and processes, and whoever of them freezes."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime

import pytest
from django.db import Error, connection, transaction

from delivery.models import Pace
from delivery.queue.claim import claim
from delivery.queue.pace import have_a_row, slow_down, take_turn, use_turn
from delivery.queue.short_transaction import short_transaction
from postmark_sandbox.server import SandboxServer
from tests.delivery.beside import Beside, at_once
from tests.delivery.newsroom import Newsroom

THREADS = 12


def how_many_of_a_crowd_claim(rate_per_s: float | None) -> int:
    found = at_once(THREADS, lambda: claim(uuid.uuid4(), lease_s=300, rate_per_s=rate_per_s))
    claimed = [one.batch for one in found if one]
    assert len(claimed) == len(set(claimed))
    return len(claimed)


@pytest.mark.parametrize("ceiling", [None, 20.0], ids=["no ceiling", "ceiling"])
def test_of_a_crowd_that_was_slowed_down_one_claims_in_each_turn(
    newsroom: Newsroom, provider: SandboxServer, settings: object, ceiling: float | None
) -> None:
    settings.DELIVERY_RATE_PER_S = ceiling  # type: ignore[attr-defined]
    newsroom.publish(readers=2_000, batch_size=200)
    provider.sandbox.set_fault("refuse_429", calls=1, retry_after=30)
    assert newsroom.step()

    assert how_many_of_a_crowd_claim(ceiling) == 0
    # The slowing lies in the future, so that nothing grows while the turns are counted.
    Pace.objects.update(slowed_to_per_s=10, slowed_at=datetime(2100, 1, 1, tzinfo=UTC))
    newsroom.let_time_pass(31)
    assert how_many_of_a_crowd_claim(ceiling) == 1
    newsroom.let_time_pass(50)
    assert how_many_of_a_crowd_claim(ceiling) == 1


def test_refusals_that_are_written_down_at_the_same_moment_halve_it_once(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    newsroom.deliver_all()
    have_a_row()
    one, other = newsroom.attempts(edition)

    with transaction.atomic(), connection.cursor() as cursor:
        # Both have started when the row is locked, and each waits for it.
        cursor.execute("SELECT 1 FROM pace FOR UPDATE")
        refusals = [Beside(lambda: slow_down(other.pk, ceiling_per_s=1_000.0)) for _ in range(2)]
        newsroom.wait_for_a_backend_that_waits_for_a_lock(sessions=2)

    assert sorted(refusal.end() for refusal in refusals) == [False, True]
    assert not slow_down(one.pk, ceiling_per_s=1_000.0)
    assert Pace.objects.get().slowed_to_per_s == 500


def test_a_turn_that_another_is_taking_is_not_waited_for(newsroom: Newsroom) -> None:
    newsroom.publish(readers=1)
    have_a_row()
    with short_transaction() as cursor:
        assert take_turn(cursor, ceiling_per_s=1_000.0) is not None
        # The turn is held until the other has its answer: were it waited for, this would not end.
        assert Beside(lambda: claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0)).end() is None
    assert claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0) is not None


def test_a_worker_that_freezes_in_its_turn_loses_it_to_the_others(newsroom: Newsroom) -> None:
    newsroom.publish(readers=1)
    is_frozen, wakes_up = threading.Event(), threading.Event()

    def frozen_worker() -> None:
        have_a_row()
        with short_transaction() as cursor:
            turn = take_turn(cursor, ceiling_per_s=1_000.0)
            assert turn is not None
            is_frozen.set()
            wakes_up.wait(60)
            use_turn(cursor, turn, 1_000_000)

    frozen = Beside(frozen_worker)
    assert is_frozen.wait(30)
    # This waits for the row; it ends because the server has ended the silent session.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pace FOR UPDATE")
    assert claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0) is not None

    wakes_up.set()
    with pytest.raises(Error, match="idle-in-transaction"):
        frozen.end()
