"""The numbers of readers by state, kept by the database with every change."""

import pytest
from django.db import connection, transaction

from subscribers.models import ReaderTotal, Subscriber
from subscribers.reader_totals import MANY_ROWS, counts_by_state, merge_totals
from tests.publishing.second_connection import beside
from tests.subscribers.factories import SubscriberFactory


def counted() -> dict[str, int]:
    """Return the totals, which must be those of the readers."""
    states = list(Subscriber.objects.values_list("state", flat=True))
    totals = {state: number for state, number in counts_by_state().items() if number}
    assert totals == {state: states.count(state) for state in set(states)}
    return totals


@pytest.mark.django_db
def test_totals_follow_every_change_of_the_readers() -> None:
    first, *_ = SubscriberFactory.create_batch(3)
    SubscriberFactory.create_batch(2, state="pending")
    assert counted() == {"confirmed": 3, "pending": 2}
    Subscriber.objects.bulk_create(
        [
            Subscriber(email="Ada@example.org", state="pending"),
            Subscriber(email=first.email, state="pending"),
        ],
        ignore_conflicts=True,
    )
    assert counted() == {"confirmed": 3, "pending": 3}
    Subscriber.objects.filter(pk=first.pk).update(name="Bo", state="bounced")
    Subscriber.objects.filter(state="pending", email__startswith="reader").delete()
    assert counted() == {"confirmed": 2, "bounced": 1, "pending": 1}


@pytest.mark.django_db
def test_an_emptied_table_has_no_readers() -> None:
    SubscriberFactory()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; TRUNCATE subscriber CASCADE")
    assert counted() == {}


@pytest.mark.django_db
def test_many_rows_of_totals_are_merged() -> None:
    SubscriberFactory.create_batch(2)
    merge_totals()
    assert ReaderTotal.objects.count() == 2
    ReaderTotal.objects.bulk_create(
        ReaderTotal(state="pending", readers=(-1) ** number) for number in range(MANY_ROWS)
    )
    merge_totals()
    assert [(one.state, one.readers) for one in ReaderTotal.objects.all()] == [("confirmed", 2)]


@pytest.mark.django_db(transaction=True)
def test_changes_of_two_readers_never_wait_for_each_other() -> None:
    one, two = SubscriberFactory.create_batch(2)
    with transaction.atomic():
        Subscriber.objects.filter(pk=one.pk).update(state="bounced")
        change = beside(lambda: Subscriber.objects.filter(pk=two.pk).update(state="bounced"))
        assert change.result(60) == 1
        beside(merge_totals).result(60)
    assert counted() == {"bounced": 2}
