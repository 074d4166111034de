"""Readers who never confirm are deleted after a while."""

import orjson
import pytest
from django.conf import LazySettings

from delivery.feedback import event_inbox
from delivery.models import Delivery
from delivery.tasks import register_background_task
from subscribers.models import Bounce, ConsentRecord, Subscriber, Suppression
from subscribers.signup.expire_unconfirmed import expire_pending
from tests.subscribers.factories import (
    SOME_DAY,
    SubscriberFactory,
    SubscriberImportFactory,
    SuppressionFactory,
)
from tests.subscribers.search_all_tables import tables_that_hold
from tests.subscribers.signup_browser import ADA, days_pass, get_current, press, sign_up

pytestmark = pytest.mark.django_db


def test_expiry_removes_the_address_everywhere() -> None:
    sign_up()
    sign_up()
    Bounce.objects.create(subscriber=get_current(), type="SoftBounce", inactive=False, at=SOME_DAY)
    event = event_inbox.store(orjson.dumps({"RecordType": "Bounce", "Email": ADA}))
    days_pass(29.9)
    assert expire_pending() == 0
    days_pass(0.2)
    assert {"delivery", "provider_event"} <= set(tables_that_hold(ADA))

    assert expire_pending() == 1

    assert tables_that_hold(ADA) == []
    assert event is not None
    assert Delivery.objects.filter(address="").count() == 2
    for model in (Subscriber, ConsentRecord, Bounce):
        assert not model.objects.exists()
    sign_up()
    assert get_current().requests == 1


def test_expiry_counts_from_the_latest_request() -> None:
    sign_up()
    days_pass(29)
    sign_up()
    days_pass(2)
    assert expire_pending() == 0
    days_pass(29)
    assert expire_pending() == 1


def test_an_imported_reader_who_never_confirmed_expires() -> None:
    SubscriberFactory(state="pending", source="import", subscriber_import=SubscriberImportFactory())
    days_pass(29)
    assert expire_pending() == 0
    days_pass(2)
    assert expire_pending() == 1


def test_only_unconfirmed_readers_expire() -> None:
    sign_up()
    press(get_current())
    for state in ("confirmed", "unsubscribed", "bounced", "complained"):
        SubscriberFactory(state=state)
    days_pass(1000)
    assert expire_pending() == 0
    assert Subscriber.objects.count() == 5
    assert ConsentRecord.objects.count() == 2


def test_expiry_keeps_suppressions() -> None:
    sign_up()
    SuppressionFactory(address_key=ADA)
    days_pass(31)
    expire_pending()
    assert Suppression.objects.filter(lifted_at=None).exists()


def test_expiry_runs_in_batches() -> None:
    for _ in range(5):
        SubscriberFactory(state="pending")
    days_pass(31)
    assert [expire_pending(batch_size=2) for _ in range(4)] == [2, 2, 1, 0]


def test_every_worker_expires_readers(settings: LazySettings) -> None:
    settings.PENDING_EXPIRES_DAYS = 2
    sign_up()
    days_pass(3)
    register_background_task.run_all()
    assert not Subscriber.objects.exists()
