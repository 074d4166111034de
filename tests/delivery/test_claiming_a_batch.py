"""A batch is in one worker's hands at a time, in its turn, and never before it is due."""

from __future__ import annotations

import threading
import uuid

from django.db import connection, transaction

from delivery.models import Edition
from delivery.queue.claim import claim, next_due_at, release
from delivery.queue.mail_on_request import request_mail
from delivery.queue.start import start
from subscribers.audience import confirmed
from tests.delivery.newsroom import Newsroom


def test_a_claimed_batch_is_not_given_to_a_second_worker(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)

    first = claim(uuid.uuid4(), lease_s=30)
    second = claim(uuid.uuid4(), lease_s=30)

    assert first is not None
    assert second is None


def test_a_batch_that_another_transaction_is_claiming_is_passed_over_not_waited_for(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 2  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=4)
    lower, higher = newsroom.batches(edition)
    claimed: list[int] = []

    def another_worker() -> None:
        found = claim(uuid.uuid4(), lease_s=30)
        claimed.append(found.batch if found else 0)
        connection.close()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM batch WHERE id = %s FOR UPDATE", [lower.pk])
        thread = threading.Thread(target=another_worker)
        thread.start()
        # The lock is held until the other has its batch: were it waited for, this would not end.
        thread.join(timeout=30)

    assert claimed == [higher.pk]


def test_twenty_workers_that_race_for_ten_batches_get_one_each_or_none(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    newsroom.publish(readers=10)
    barrier = threading.Barrier(20, timeout=30)
    claimed: list[int] = []

    def a_worker() -> None:
        connection.ensure_connection()
        barrier.wait()
        found = claim(uuid.uuid4(), lease_s=30)
        if found:
            claimed.append(found.batch)
        connection.close()

    threads = [threading.Thread(target=a_worker) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert len(claimed) == len(set(claimed)) == 10


def test_nothing_is_claimed_before_the_hold_is_over(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3, hold_s=600)

    assert claim(uuid.uuid4(), lease_s=30) is None
    assert newsroom.state(edition) == "held"

    newsroom.let_time_pass(601)
    assert claim(uuid.uuid4(), lease_s=30) is not None
    assert newsroom.state(edition) == "sending"


def test_a_small_edition_goes_one_for_one_with_a_large_one_that_came_first(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    large = newsroom.publish(readers=20)
    for _ in range(5):
        assert claim(uuid.uuid4(), lease_s=30)
    small = newsroom.publish()

    turns = [claim(uuid.uuid4(), lease_s=30) for _ in range(10)]

    editions = [turn.edition for turn in turns if turn]
    assert editions.count(small.pk) == editions.count(large.pk) == 5


def test_a_released_batch_waits_again_as_if_it_had_not_been_claimed(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    first = claim(uuid.uuid4(), lease_s=30)
    assert first is not None

    assert release(first)

    again = claim(uuid.uuid4(), lease_s=30)
    assert again is not None
    assert again.epoch == first.epoch + 1
    assert newsroom.batch(edition).crashes == 0


def test_a_claim_that_was_lost_cannot_be_released(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    lost = claim(uuid.uuid4(), lease_s=30)
    assert lost is not None
    newsroom.let_time_pass(31)
    newsroom.sweep()
    assert claim(uuid.uuid4(), lease_s=30) is not None

    assert not release(lost)


def test_the_ceiling_on_copies_per_second_holds_over_all_workers(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 100  # type: ignore[attr-defined]
    newsroom.publish(readers=300)

    # One second's worth may go at once; the next has to wait for its turn, whoever asks.
    rate = 10.0
    first = claim(uuid.uuid4(), lease_s=30, rate_per_s=rate)
    second = claim(uuid.uuid4(), lease_s=30, rate_per_s=rate)

    assert first is not None
    assert second is None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM next_claim_at - clock_timestamp()) BETWEEN 5 AND 10 "
            "FROM pace"
        )
        assert cursor.fetchone() == (True,)


def test_what_is_due_next_is_known_so_that_nobody_waits_for_nothing(newsroom: Newsroom) -> None:
    assert next_due_at() is None

    edition = newsroom.publish(readers=1, hold_s=600)

    assert next_due_at() == edition.held_until


def test_confirmation_mail_goes_ahead_of_every_newsletter(newsroom: Newsroom) -> None:
    newsletter = newsroom.publish(readers=3)
    reader = confirmed().get(email="reader1@example.net")
    with transaction.atomic():
        request_mail(Edition.Kind.CONFIRMATION, 1, [(reader[0], reader[1])], ahead=True)
    confirmation = Edition.objects.get(kind=Edition.Kind.CONFIRMATION)

    turns = [claim(uuid.uuid4(), lease_s=30) for _ in range(2)]

    assert [turn.edition for turn in turns if turn] == [confirmation.pk, newsletter.pk]


def test_a_batch_whose_call_is_on_record_cannot_be_released(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    claimed = claim(uuid.uuid4(), lease_s=30)
    assert claimed is not None
    start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=5, lease_s=5)

    assert not release(claimed)

    assert newsroom.batch(edition).state == "sending"
