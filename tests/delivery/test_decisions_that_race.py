"""Who decides, who starts a call and who decides the same at once: one comes first."""

from __future__ import annotations

import uuid

import pytest
from django.db import OperationalError, connection

from delivery.models import Attempt
from delivery.queue import control
from delivery.queue.claim import claim
from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition
from delivery.queue.start import ClaimLost, Started, start
from postmark_sandbox.server import SandboxServer
from tests.delivery.beside import at_once
from tests.delivery.hands_on_an_edition import WORKER, states
from tests.delivery.newsroom import Newsroom


def test_whoever_decides_holds_the_edition(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    other = connection.copy()
    try:
        with short_transaction() as cursor, other.cursor() as another:
            lock_edition(cursor, edition.pk)
            with pytest.raises(OperationalError, match="could not obtain lock"):
                another.execute("SELECT FROM edition FOR NO KEY UPDATE NOWAIT")
    finally:
        other.close()


def test_a_start_that_commits_first_is_left_alone_and_one_that_comes_second_finds_its_claim_gone(
    newsroom: Newsroom, provider: SandboxServer, small_batches: None
) -> None:
    edition = newsroom.publish(readers=4)
    first, second = claim(WORKER, lease_s=60), claim(WORKER, lease_s=60)
    assert first is not None
    assert second is not None
    assert isinstance(start(first, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5), Started)
    assert control.cancel(edition.pk) == 2
    assert start(second, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5) == ClaimLost()
    assert states(newsroom, edition) == ["sending", "done"]
    assert Attempt.objects.filter(edition=edition).count() == 1


def test_nothing_left_behind_counts_twice_when_many_cancel_at_once(
    newsroom: Newsroom, small_batches: None
) -> None:
    edition = newsroom.publish(readers=6)
    withdrawn = at_once(4, lambda: control.cancel(edition.pk))
    assert sorted(withdrawn, key=str) == [6, None, None, None]
    assert newsroom.books(edition).withdrawn == 6
