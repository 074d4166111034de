"""What is told of a copy that is dropped and still there changes no book and raises no alarm."""

from __future__ import annotations

import pytest

from delivery.models import Alarm, Batch, Delivery, Edition, Evidence, ProviderEvent
from delivery.queue import dropping, provider_event
from delivery.queue.audit import breaches_of
from delivery.queue.dropping import Answer
from publishing.receipts import receipt_of
from subscribers.models import Subscriber
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


def test_another_acceptance_raises_no_alarm_and_leaves_no_evidence(half_dropped: Edition) -> None:
    copy = Delivery.objects.filter(issue=half_dropped.issue_id)[0]
    provider_event.keep(told_of(copy, "Delivery", MessageID="another-one"))

    apply_all()

    assert not Alarm.objects.exists()
    assert not Evidence.objects.exists()


def test_evidence_that_came_between_goes_with_the_next_run(half_dropped: Edition) -> None:
    copy = Delivery.objects.filter(issue=half_dropped.issue_id)[0]
    assert sum(dropping.delete_copies(half_dropped.pk)) == 5
    Evidence.objects.create(
        provider_message_id="m",
        issue_id=half_dropped.issue_id,
        recipient_id=copy.recipient_id,
        version=1,
        source="webhook",
    )

    assert dropping.left_behind() == [half_dropped.pk]
    assert sum(dropping.delete_copies(half_dropped.pk)) == 0
    assert dropping.left_behind() == []
    assert not Evidence.objects.exists()
