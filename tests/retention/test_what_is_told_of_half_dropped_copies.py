"""What is told of a copy that is dropped and still there changes no book and raises no alarm."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from delivery.models import Alarm, Batch, Delivery, Edition, Evidence, ProviderEvent
from delivery.queue import dropping, provider_event
from delivery.queue.audit import breaches_of
from delivery.queue.dropping import Answer
from publishing.receipts import receipt_of
from subscribers.models import Subscriber
from tests.delivery.newsroom import Newsroom
from tests.delivery.on_record import put_on_record
from tests.retention.told_of import told_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def half_dropped(old: Edition) -> Edition:
    """It is said that its copies are dropped, and all of them are still there."""
    receipt_of(old)
    assert dropping.say_dropped(old.pk, days=52) is Answer.SAID
    return old


def apply_all() -> None:
    for event in ProviderEvent.objects.filter(applied_at__isnull=True).order_by("pk"):
        assert provider_event.apply(event.pk)


def test_complaints_and_bounces_reach_their_readers_and_nothing_is_paused(
    half_dropped: Edition,
) -> None:
    for copy in Delivery.objects.filter(issue=half_dropped.issue_id):
        provider_event.keep(told_of(copy, "SpamComplaint", Type="SpamComplaint", ID=1))
    apply_all()
    half_dropped.refresh_from_db()
    assert half_dropped.control == "running"
    assert set(Subscriber.objects.values_list("state", flat=True)) == {"complained"}
    assert not any(Batch.objects.filter(edition=half_dropped).values_list("complained", flat=True))
    assert breaches_of([half_dropped.pk]) == []


def test_a_bounce_that_waits_while_copies_are_dropped_is_counted_by_none_of_them(
    newsroom: Newsroom, old: Edition, onlooker: psycopg.Connection[Any]
) -> None:
    copy = Delivery.objects.filter(issue=old.issue_id)[0]
    provider_event.keep(told_of(copy, "Bounce", Type="HardBounce", ID=1, Inactive=True))

    def work() -> None:
        apply_all()
        connection.close()

    worker = threading.Thread(target=work)
    with onlooker.transaction():
        onlooker.execute("UPDATE edition SET copies_dropped_at = now() WHERE id = %s", [old.pk])
        worker.start()
        newsroom.wait_for_a_backend_that_waits_for_a_lock(doing="FOR NO KEY UPDATE")
    worker.join(timeout=30)

    assert not worker.is_alive()
    assert not any(Batch.objects.filter(edition=old).values_list("bounced", flat=True))
    assert Subscriber.objects.get(pk=copy.recipient_id).state == "bounced"


def test_of_a_copy_that_is_here_nobody_asks_whether_it_was_dropped(old: Edition) -> None:
    provider_event.keep(told_of(Delivery.objects.filter(issue=old.issue_id)[0], "Delivery"))
    with CaptureQueriesContext(connection) as asked:
        apply_all()
    assert not [query["sql"] for query in asked if "copies_dropped_at" in query["sql"]]


def test_another_acceptance_raises_no_alarm_and_leaves_no_evidence(half_dropped: Edition) -> None:
    copy = Delivery.objects.filter(issue=half_dropped.issue_id)[0]
    provider_event.keep(told_of(copy, "Delivery", MessageID="another-one"))
    apply_all()
    assert not Alarm.objects.exists()
    assert not Evidence.objects.exists()


def test_evidence_that_came_between_goes_with_the_next_run(half_dropped: Edition) -> None:
    copy = Delivery.objects.filter(issue=half_dropped.issue_id)[0]
    assert sum(dropping.delete_copies(half_dropped.pk)) == 5
    put_on_record(copy, "m")
    assert dropping.left_behind() == [half_dropped.pk]
    assert sum(dropping.delete_copies(half_dropped.pk)) == 0
    assert dropping.left_behind() == []
    assert not Evidence.objects.exists()
