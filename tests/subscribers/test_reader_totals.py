"""The numbers of readers by state, which the database updates with every change."""

from datetime import UTC, date, datetime

import pytest
from django.db import connection, transaction

from subscribers.models import ConsentRecord, NewReaders, ReaderTotal, Subscriber
from subscribers.reader_totals import MANY_ROWS, counts_by_state, load_new_readers, merge_totals
from tests.publishing.second_connection import beside
from tests.subscribers.factories import SOME_DAY, SubscriberFactory

pytestmark = pytest.mark.django_db


def counted() -> dict[str, int]:
    """Return the totals, after a check that they equal a count of the readers."""
    states = list(Subscriber.objects.values_list("state", flat=True))
    totals = {state: number for state, number in counts_by_state().items() if number}
    assert totals == {state: states.count(state) for state in set(states)}
    return totals


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


def test_an_emptied_table_has_no_readers() -> None:
    SubscriberFactory()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; TRUNCATE subscriber CASCADE")
    assert counted() == {}


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


def test_new_readers_count_by_source_when_they_are_confirmed() -> None:
    SubscriberFactory(source="desk")
    pending = SubscriberFactory.create_batch(2, state="pending", confirmed_at=None)
    for reader, how in zip(pending, ("form", "embedded form"), strict=True):
        asked, confirmed = ({"act": "asked", "how": how}, {"act": "confirmed", "how": "link"})
        for act in (asked, confirmed):
            opt_in = ConsentRecord.objects.create(subscriber=reader, request=1, **act)
        changes = {"state": "confirmed", "confirmed_at": SOME_DAY, "opt_in": opt_in}
        Subscriber.objects.filter(pk=reader.pk).update(**changes)
    this_month = datetime.now(UTC).date().replace(day=1)
    expected = {(this_month, how): 1 for how in ("desk", "form", "embedded form")}
    NewReaders.objects.bulk_create(
        NewReaders(month=this_month, source="api", readers=(-1) ** number)
        for number in range(MANY_ROWS)
    )
    for _ in range(2):
        assert load_new_readers(this_month) == expected
        merge_totals()
    assert NewReaders.objects.count() == 3
    assert load_new_readers(date(this_month.year + 1, 1, 1)) == {}
