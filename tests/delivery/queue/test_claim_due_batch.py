"""Each batch is claimed by one worker at a time, and only when it is due."""

import uuid

import pytest
from django.db import connection, transaction

from delivery.models import Delivery, Edition
from delivery.queue.batches.insert_and_split import LARGEST_BATCH_BYTES, batch_size_for
from delivery.queue.claim_due_batch import claim, next_due_at, release
from subscribers.models import Subscriber, Suppression
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import begun, claim_next_batch
from tests.publishing.second_connection import PATIENCE_S, at_once, beside


def test_a_claimed_batch_is_not_given_to_a_second_worker(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    first = claim(uuid.uuid4(), lease_s=30)
    second = claim(uuid.uuid4(), lease_s=30)
    assert first is not None
    assert second is None


def test_batch_being_claimed_by_another_worker_is_skipped(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, batch_size=2)
    lower, higher = newsroom.batches(edition)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM batch WHERE id = %s FOR UPDATE", [lower.pk])
        # This transaction keeps the lock until the other worker has its batch, so a worker that
        # waited for the lock would never end.
        claimed = beside(claim_next_batch).result(PATIENCE_S)
    assert claimed.batch == higher.pk


def test_racing_workers_never_share_a_batch(newsroom: Newsroom) -> None:
    newsroom.publish(readers=10, batch_size=1)
    found = at_once(*[lambda: claim(uuid.uuid4(), lease_s=30)] * 20)
    claimed = [one.batch for one in found if one]
    assert len(claimed) == len(set(claimed)) == 10


def test_nothing_is_claimed_before_the_hold_ends(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3, hold_s=600)
    assert claim(uuid.uuid4(), lease_s=30) is None
    assert newsroom.state(edition) == "held"
    newsroom.let_time_pass(601)
    assert claim(uuid.uuid4(), lease_s=30) is not None
    assert newsroom.state(edition) == "sending"


def test_a_small_edition_takes_turns_with_a_large_one(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    large = newsroom.publish(readers=20)
    for _ in range(5):
        assert claim(uuid.uuid4(), lease_s=30)
    small = newsroom.publish()
    turns = [claim(uuid.uuid4(), lease_s=30) for _ in range(10)]
    editions = [turn.edition for turn in turns if turn]
    assert editions.count(small.pk) == editions.count(large.pk) == 5


def test_released_batch_waits_unchanged(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    first = claim_next_batch()
    assert release(first)
    again = claim_next_batch()
    assert again.epoch == first.epoch + 1
    assert newsroom.batch(edition).crashes == 0


def test_lost_claim_cannot_be_released(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    lost = claim_next_batch()
    newsroom.let_time_pass(31)
    newsroom.recover_expired_leases()
    assert claim(uuid.uuid4(), lease_s=30) is not None
    assert not release(lost)


def test_rate_limit_applies_to_all_workers_together(newsroom: Newsroom) -> None:
    newsroom.publish(readers=300, batch_size=100)

    # The first batch may be sent at once. The next claim has to wait for its permit.
    rate = 10.0
    first = claim(uuid.uuid4(), lease_s=30, rate_per_s=rate)
    second = claim(uuid.uuid4(), lease_s=30, rate_per_s=rate)

    assert first is not None
    assert second is None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM next_claim_at - clock_timestamp()) BETWEEN 5 AND 10 "
            "FROM send_rate"
        )
        assert cursor.fetchone() == (True,)


def test_next_due_time_is_known(newsroom: Newsroom) -> None:
    assert next_due_at() is None
    edition = newsroom.publish(readers=1, hold_s=600)
    assert next_due_at() == edition.held_until


def test_a_batch_with_a_recorded_call_cannot_be_released(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    claimed, _, _ = begun()
    assert not release(claimed)
    assert newsroom.batch(edition).state == "sending"


@pytest.mark.parametrize(("readers", "sizes"), [(0, []), (1, [1]), (4, [2, 2]), (5, [2, 2, 1])])
def test_an_audience_is_cut_into_batches(
    newsroom: Newsroom, readers: int, sizes: list[int]
) -> None:

    edition = newsroom.publish(readers=readers, batch_size=2)
    assert [batch.size for batch in newsroom.batches(edition)] == sizes
    assert newsroom.counts(edition).waiting == edition.audience == readers


def test_audience_is_confirmed_readers_who_are_not_suppressed(newsroom: Newsroom) -> None:
    newsroom.confirm(3)
    Subscriber.objects.create(email="pending@example.net")
    Subscriber.objects.filter(email="reader0@example.net").update(state="bounced")
    Suppression.objects.create(
        address_key="reader1@example.net",
        reason=Suppression.Reason.COMPLAINT,
        origin=Suppression.Origin.PROVIDER,
    )

    edition = newsroom.publish()

    addresses = Delivery.objects.filter(issue=edition.issue_id).values_list("address", flat=True)
    assert list(addresses) == ["reader2@example.net"]


def test_a_reader_confirmed_after_publishing_is_not_in_the_audience(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.confirm(1, start=2)
    assert newsroom.counts(edition).audience == 2


def test_long_letter_gets_smaller_batches() -> None:
    letter = Edition(html_mail="x" * 1_000_000)
    size = batch_size_for(letter, 500)
    assert 1 <= size < 500
    assert size * 1_000_000 <= LARGEST_BATCH_BYTES
    assert batch_size_for(Edition(html_mail="short"), 500) == 500


def test_edition_to_nobody_succeeds(newsroom: Newsroom) -> None:
    edition = newsroom.publish()
    assert newsroom.batches(edition) == []
    assert newsroom.state(edition) == "succeeded"
