"""The answers that delivery gets when an attempt starts, and when an address was refused."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from delivery import readers
from subscribers.models import Subscriber
from subscribers.readers import RegisteredReaders
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


def test_the_list_answers_for_readers() -> None:
    assert isinstance(readers.registered(), RegisteredReaders)


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        ("confirmed", None),
        ("pending", None),
        ("unsubscribed", "withdrawn"),
        ("bounced", "suppressed"),
        ("complained", "suppressed"),
    ],
)
def test_who_left_is_withdrawn_and_who_bounced_or_complained_is_suppressed(
    state: str, answer: str | None
) -> None:
    reader = SubscriberFactory(state=state)

    assert RegisteredReaders().no_longer_mailable([reader.pk]).get(reader.pk) == answer


@pytest.mark.parametrize(
    ("state", "answer"),
    [("confirmed", "suppressed"), ("pending", "suppressed"), ("unsubscribed", "withdrawn")],
)
def test_a_suppressed_address_is_suppressed_unless_its_owner_left_by_themselves(
    state: str, answer: str
) -> None:
    reader = SubscriberFactory(email="Ada@example.org", state=state)
    SuppressionFactory(address_key="ada@example.org")

    assert RegisteredReaders().no_longer_mailable([reader.pk]) == {reader.pk: answer}


def test_who_is_no_longer_held_here_is_withdrawn() -> None:
    assert RegisteredReaders().no_longer_mailable([987_654_321]) == {987_654_321: "withdrawn"}


def test_a_whole_batch_is_answered_in_one_query_that_names_only_the_exceptions(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    mailable = SubscriberFactory.create_batch(5)
    left = SubscriberFactory(state="unsubscribed")
    everybody = [reader.pk for reader in [*mailable, left]]

    with django_assert_num_queries(1):
        assert RegisteredReaders().no_longer_mailable(everybody) == {left.pk: "withdrawn"}


def test_a_refused_address_makes_its_reader_bounced() -> None:
    refused = SubscriberFactory.create_batch(3)
    other = SubscriberFactory()

    RegisteredReaders().mark_refused([reader.pk for reader in refused])

    states = dict(Subscriber.objects.values_list("id", "state"))
    assert [states[reader.pk] for reader in refused] == ["bounced"] * 3
    assert states[other.pk] == "confirmed"


@pytest.mark.parametrize("state", ["unsubscribed", "complained", "bounced"])
def test_a_refused_address_changes_nobody_who_is_not_mailed_anyway(state: str) -> None:
    reader = SubscriberFactory(state=state)

    RegisteredReaders().mark_refused([reader.pk])

    reader.refresh_from_db()
    assert reader.state == state
