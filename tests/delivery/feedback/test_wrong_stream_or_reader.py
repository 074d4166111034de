"""Events with another reader's address or another stream change nothing."""

from typing import Any

import pytest
from django.db import connection, transaction

from delivery.models import Alarm, Edition, Evidence, ProviderEvent, ProviderSuppression
from delivery.queue.enqueue_transactional import request_mail
from delivery.reports.reason_sentences import reason_sentence
from delivery.retention.anonymise import anonymise_unconfirmed
from subscribers.data_requests.erase import erase
from subscribers.models import Bounce, Subscriber, Suppression
from tests.delivery.edition_factory import Newsroom, copies_of
from tests.delivery.webhook_events import event, key_of, post

KINDS = ["Delivery", "Bounce", "SpamComplaint", "SubscriptionChange", "Open", "Click"]


@pytest.fixture
def sent(newsroom: Newsroom) -> Edition:
    edition = newsroom.publish(readers=2)
    newsroom.deliver_all()
    return edition


def tell(
    edition: Edition | None, recipient: int, address: str, kind: str, **more: Any
) -> dict[str, object]:
    """Post an event of this kind with every field that could have an effect."""
    facts: dict[str, Any] = {"Recipient": address, "Email": address, "Type": "HardBounce"}
    facts |= {"ID": 1, "Inactive": True, "SuppressSending": True, "Origin": "Recipient"}
    facts |= {"SuppressionReason": "ManualSuppression"}
    key = key_of(edition, recipient) if edition else ""
    body = event(key, "a message", record_type=kind, **facts) | more
    assert post(body) == 200
    assert not ProviderEvent.objects.filter(applied_at=None).exists()
    return body


def effects() -> dict[str, list[Any]]:
    """Read the rows that an event about an address or a copy may change."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT recipient_id, delivery::text FROM delivery ORDER BY 1, 2")
        rows: list[Any] = cursor.fetchall()
    return {
        "copies": rows,
        "readers": list(Subscriber.objects.order_by("pk").values_list("state", "unsubscribed_at")),
        "suppressed": list(Suppression.objects.values_list("address_key", "reason")),
        "bounces": list(Bounce.objects.values_list("subscriber")),
        "evidence": list(Evidence.objects.values_list("provider_message_id")),
        "at the provider": list(ProviderSuppression.objects.values_list("address_key", "stream")),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_with_another_address_changes_nothing(sent: Edition, kind: str) -> None:
    mine, other = copies_of(sent)
    before = effects()
    tell(sent, mine.recipient_id, other.address, kind)
    tell(sent, mine.recipient_id, "nobody@example.net", kind)
    assert effects() == before
    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.edition_id) == ("other_address", sent.pk)
    assert f"the copy of reader {mine.recipient_id}" in reason_sentence(alarm.reason)
    assert "@" not in alarm.reason.dumps()  # type: ignore[union-attr]
    assert ProviderEvent.objects.count() == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_letter_case_of_an_address_does_not_matter(sent: Edition, kind: str) -> None:
    before, mine = effects(), copies_of(sent)[0]
    tell(sent, mine.recipient_id, mine.address.upper(), kind)
    assert effects() != before
    assert not Alarm.objects.filter(kind="other_address").exists()


@pytest.mark.parametrize("address", [None, "", "Ada <ada@example.org>"])
def test_an_event_without_a_plain_address_proves_acceptance(sent: Edition, address: Any) -> None:
    before, mine = effects(), copies_of(sent)[0]
    tell(sent, mine.recipient_id, address, "Delivery")
    assert len(effects()["evidence"]) == len(before["evidence"]) + 1
    assert not Alarm.objects.filter(kind="other_address").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", ["another-program", "outbound"])
def test_an_event_of_another_stream_than_its_copy_changes_nothing(
    sent: Edition, kind: str, stream: str
) -> None:
    before, mine = effects(), copies_of(sent)[0]
    tell(sent, mine.recipient_id, mine.address, kind, MessageStream=stream)
    assert effects() == before
    assert not Alarm.objects.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", ["", "0" * 32 + ".1.1"])
def test_an_event_of_another_programs_stream_changes_nothing(
    sent: Edition, kind: str, named: str
) -> None:
    before, mine = effects(), copies_of(sent)[0]
    metadata = {"delivery": named}
    foreign = {"Metadata": metadata, "MessageStream": "another-program"}
    tell(None, 0, mine.address, kind, **foreign)
    tell(None, 0, mine.address, kind, **foreign, SuppressSending=False)
    assert effects() == before
    assert not Alarm.objects.exists()


def test_a_change_of_the_transactional_stream_unsubscribes_nobody(sent: Edition) -> None:
    mine = copies_of(sent)[0]
    tell(None, 0, mine.address, "SubscriptionChange", MessageStream="outbound")
    assert Subscriber.objects.get(pk=mine.recipient_id).state == "confirmed"
    assert not Suppression.objects.exists()
    assert ProviderSuppression.objects.get().stream == "outbound"


@pytest.mark.parametrize("named", ["broadcast", ""])
def test_a_change_of_the_newsletters_stream_unsubscribes(sent: Edition, named: str) -> None:
    mine, other = copies_of(sent)
    tell(None, 0, mine.address, "SubscriptionChange", MessageStream=named)
    tell(sent, other.recipient_id, other.address, "SubscriptionChange", MessageStream=named)
    assert set(Subscriber.objects.values_list("state", flat=True)) == {"unsubscribed"}


def test_a_letter_of_a_renamed_stream_still_unsubscribes(sent: Edition, settings: Any) -> None:
    settings.BROADCAST_STREAM = "letters"
    mine = copies_of(sent)[0]
    tell(sent, mine.recipient_id, mine.address, "SubscriptionChange")
    assert Subscriber.objects.get(pk=mine.recipient_id).state == "unsubscribed"


def test_a_bounced_confirmation_stops_no_newsletter(newsroom: Newsroom) -> None:
    (reader,) = newsroom.confirm(1)
    with transaction.atomic():
        request_mail("confirmation", 1, [(reader.pk, reader.email)], ahead=True)
    newsroom.deliver_all()
    edition = Edition.objects.get(kind="confirmation")
    tell(edition, reader.pk, reader.email, "Bounce", MessageStream="outbound")
    reader.refresh_from_db()
    assert reader.state == "confirmed"
    assert not Suppression.objects.exists()
    assert copies_of(edition)[0].bounced_at is not None
    assert Bounce.objects.get().subscriber_id == reader.pk


def test_an_erased_readers_event_is_judged_by_the_hash(sent: Edition) -> None:
    gone, other = copies_of(sent)
    erase(gone.recipient_id)
    again = Subscriber.objects.create(
        email=gone.address, state="confirmed", confirmed_at="2026-01-01T00:00:00Z"
    )
    tell(sent, gone.recipient_id, other.address, "SubscriptionChange")
    assert Subscriber.objects.get(pk=other.recipient_id).state == "confirmed"
    assert Alarm.objects.count() == 1
    tell(sent, gone.recipient_id, gone.address, "SubscriptionChange")
    assert Subscriber.objects.get(pk=again.pk).state == "unsubscribed"
    assert Alarm.objects.filter(kind="other_address").count() == 1


def test_an_unconfirmed_readers_late_bounce_raises_no_alarm(newsroom: Newsroom) -> None:
    reader = Subscriber.objects.create(email="new@example.net", state="pending")
    with transaction.atomic():
        request_mail("confirmation", 1, [(reader.pk, reader.email)], ahead=True)
    newsroom.deliver_all()
    anonymise_unconfirmed({reader.pk: reader.email})
    reader.delete()
    edition = Edition.objects.get(kind="confirmation")
    tell(edition, reader.pk, reader.email, "Bounce", MessageStream="outbound")
    assert not Alarm.objects.exists()


@pytest.mark.parametrize("stream", ["broadcast", "another-program"])
def test_an_ignored_event_with_an_erased_address_is_not_kept(sent: Edition, stream: str) -> None:
    mine, gone = copies_of(sent)
    erase(gone.recipient_id)
    tell(sent, mine.recipient_id, gone.address, "Bounce", MessageStream=stream)
    tell(None, 0, gone.address, "SubscriptionChange", MessageStream="another-program")
    assert not ProviderEvent.objects.exists()
