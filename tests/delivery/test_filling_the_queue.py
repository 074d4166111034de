"""The queue is filled by one statement: a delivery for each reader, cut into batches."""

from __future__ import annotations

import pytest

from delivery.models import Delivery, Edition
from delivery.queue.enqueue import LARGEST_BATCH_BYTES, batch_size_for
from subscribers.models import Subscriber, Suppression
from tests.delivery.newsroom import Newsroom


@pytest.mark.parametrize(("readers", "sizes"), [(0, []), (1, [1]), (4, [2, 2]), (5, [2, 2, 1])])
def test_an_audience_is_cut_into_full_batches_and_a_rest(
    newsroom: Newsroom, readers: int, sizes: list[int]
) -> None:

    edition = newsroom.publish(readers=readers, batch_size=2)
    assert [batch.size for batch in newsroom.batches(edition)] == sizes
    assert newsroom.books(edition).waiting == edition.audience == readers


def test_only_confirmed_readers_who_may_be_mailed_are_an_audience(newsroom: Newsroom) -> None:
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


def test_who_is_confirmed_after_publishing_is_not_in_the_audience(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.confirm(1, start=2)
    assert newsroom.books(edition).audience == 2


def test_a_long_letter_travels_in_smaller_batches_than_were_asked_for() -> None:
    letter = Edition(html_mail="x" * 1_000_000)
    size = batch_size_for(letter, 500)
    assert 1 <= size < 500
    assert size * 1_000_000 <= LARGEST_BATCH_BYTES
    assert batch_size_for(Edition(html_mail="short"), 500) == 500


def test_a_new_edition_to_nobody_is_there_and_has_succeeded(newsroom: Newsroom) -> None:
    edition = newsroom.publish()
    assert newsroom.batches(edition) == []
    assert newsroom.state(edition) == "succeeded"
