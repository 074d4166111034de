"""Events about an accepted copy, and the rates that pause an edition."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from delivery.feedback.pause_on_bounces import Limit, find_exceeded_rate
from delivery.models import Alarm, Batch, Delivery, Edition, ProviderEvent
from delivery.queue import edition_control
from delivery.reports.reason_sentences import reason_sentence
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.retention import anonymise
from delivery.rules.edition_state import EditionState
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.edition_factory import Newsroom, copies_of
from tests.delivery.webhook_events import event, key_of, post

AT = datetime(2026, 5, 4, 14, 0, tzinfo=UTC)


@pytest.fixture
def sent(newsroom: Newsroom) -> Edition:
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    return edition


def tell(copy: Delivery, record_type: str, at: datetime = AT, **more: Any) -> None:
    edition = Edition.objects.get(issue=copy.issue_id, version=copy.version)
    body = event(
        key_of(edition, copy.recipient_id),
        copy.provider_message_id,
        record_type=record_type,
        Recipient=copy.address,
        Email=copy.address,
        Type="HardBounce",
        Inactive=True,
        DeliveredAt=at.isoformat(),
        BouncedAt=at.isoformat(),
        ChangedAt=at.isoformat(),
    )
    assert post(body | more) == 200


def test_delivered_copy_keeps_the_earliest_time(sent: Edition) -> None:
    copy = copies_of(sent)[0]
    for at in (AT, AT - timedelta(hours=1), AT + timedelta(hours=1)):
        tell(copy, "Delivery", at)
    assert copies_of(sent)[0].delivered_at == AT - timedelta(hours=1)
    assert [row.delivered_at for row in copies_of(sent)[1:]] == [None, None]


def test_no_index_holds_a_time_that_events_set(sent: Edition) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'delivery'")
        indexes = str(cursor.fetchall())
    assert not any(name in indexes for name in ("delivered_at", "bounced_at", "complained_at"))


def test_repeated_bounce_is_counted_once(sent: Edition, newsroom: Newsroom) -> None:
    copy = copies_of(sent)[0]
    tell(copy, "Bounce", AT, ID=1)
    tell(copy, "Bounce", AT + timedelta(seconds=1), ID=2)
    tell(
        copy,
        "SubscriptionChange",
        AT - timedelta(seconds=1),
        SuppressSending=True,
        SuppressionReason="HardBounce",
        Origin="Recipient",
    )

    assert copies_of(sent)[0].bounced_at == AT - timedelta(seconds=1)
    assert newsroom.batch(sent).bounced == 1
    assert newsroom.outcomes(sent) == ["sent"] * 3


def test_a_copy_may_count_as_bounced_and_complained(sent: Edition, newsroom: Newsroom) -> None:
    copy = copies_of(sent)[0]
    tell(copy, "SpamComplaint", ID=1)
    tell(copy, "Bounce", ID=2)
    batch = newsroom.batch(sent)
    assert (batch.bounced, batch.complained) == (1, 1)


def test_a_bounce_that_blames_no_address_is_not_counted(sent: Edition, newsroom: Newsroom) -> None:
    for number, kind in enumerate(("Transient", "AutoResponder", "Unsubscribe")):
        tell(copies_of(sent)[0], "Bounce", ID=number + 1, Type=kind, Inactive=False)
    assert newsroom.batch(sent).bounced == 0
    assert copies_of(sent)[0].bounced_at is None


def test_bounce_without_metadata_is_matched_by_tag_address_and_id(sent: Edition) -> None:
    copy = copies_of(sent)[1]
    tell(copy, "Bounce", ID=1, Metadata={}, Tag=f"issue-{sent.issue_id.hex}")
    assert [row.bounced_at for row in copies_of(sent)] == [None, AT, None]


def test_bounce_of_foreign_mail_matches_no_copy(sent: Edition) -> None:
    copy = copies_of(sent)[1]
    tell(copy, "Bounce", ID=1, Metadata={}, Tag=f"issue-{sent.issue_id.hex}", MessageID="other")
    tell(copy, "Bounce", ID=2, Metadata={}, Tag="issue-of-others")
    assert [row.bounced_at for row in copies_of(sent)] == [None] * 3


@pytest.fixture
def halfway(newsroom: Newsroom, settings: Any) -> Edition:
    settings.DELIVERY_SURGE_BOUNCES_PERCENT = 20.0
    settings.DELIVERY_SURGE_BOUNCES_LEAST = 2
    settings.DELIVERY_SURGE_COMPLAINTS_LEAST = 1
    edition = newsroom.publish(readers=20, batch_size=5)
    assert newsroom.step()
    assert newsroom.step()
    return edition


def gone(edition: Edition) -> list[Delivery]:
    return [copy for copy in copies_of(edition) if copy.outcome == "sent"]


def test_too_many_bounces_pause_the_edition(halfway: Edition, newsroom: Newsroom) -> None:
    tell(gone(halfway)[0], "Bounce", ID=1)
    assert newsroom.state(halfway) is EditionState.SENDING
    tell(gone(halfway)[1], "Bounce", ID=2)
    assert newsroom.state(halfway) is EditionState.PAUSED
    assert waiting_sentence(newsroom.counts(halfway)).startswith(
        "Homing paused this issue because the bounce rate is above the limit. Bounced: 2 of 10 "
        "(20.0 %, limit 20 %)."
    )
    assert [alarm.kind for alarm in Alarm.objects.filter(edition=halfway)] == ["bounce_threshold"]
    assert not newsroom.step()


def test_one_complaint_can_be_enough(halfway: Edition, newsroom: Newsroom) -> None:
    tell(gone(halfway)[0], "SpamComplaint", ID=1)
    assert "Marked as spam: 1 of " in waiting_sentence(newsroom.counts(halfway))


def test_the_same_bounces_do_not_pause_a_resumed_edition(
    halfway: Edition, newsroom: Newsroom
) -> None:
    for number, copy in enumerate(gone(halfway)[:2]):
        tell(copy, "Bounce", ID=number + 1)
    assert edition_control.resume(halfway.pk)
    assert newsroom.step()

    tell(gone(halfway)[0], "Bounce", AT + timedelta(seconds=1), ID=9)
    tell(gone(halfway)[10], "Bounce", ID=10)
    assert newsroom.state(halfway) is EditionState.SENDING
    # Only bounces after the resume count: five copies were sent since then, and two of them bounce.
    tell(gone(halfway)[11], "Bounce", ID=11)
    assert newsroom.state(halfway) is EditionState.PAUSED
    assert Alarm.objects.filter(edition=halfway, kind="bounce_threshold").count() == 2


def test_unknown_copies_count_as_sent_in_rates(
    halfway: Edition, newsroom: Newsroom, settings: Any
) -> None:
    # Change the counts as if one of the two calls had got no answer.
    settings.DELIVERY_SURGE_BOUNCES_PERCENT = 21.0
    first = Batch.objects.filter(edition=halfway, sent=5).order_by("position")[0]
    Batch.objects.filter(pk=first.pk).update(sent=0, unknown=5, state="unknown", unknown_since=AT)
    for number, copy in enumerate(gone(halfway)[:2]):
        tell(copy, "Bounce", ID=number + 1)
    halfway.refresh_from_db()
    assert halfway.control == "running"


def test_bounces_after_the_last_copy_pause_nothing(halfway: Edition, newsroom: Newsroom) -> None:
    newsroom.deliver_all()
    for number, copy in enumerate(gone(halfway)):
        tell(copy, "Bounce", ID=number + 1)
    assert newsroom.state(halfway) is EditionState.SUCCEEDED
    assert not Alarm.objects.exists()


def test_events_about_an_address_can_be_listed_and_erased(sent: Edition) -> None:
    mine, other = copies_of(sent)[:2]
    tell(mine, "Delivery", Recipient=mine.address.upper())
    tell(other, "Delivery")
    (shown,) = anonymise.load_events_about(mine.address)
    assert mine.address.upper() in shown["body"]
    anonymise.delete_provider_data(mine.address)
    assert anonymise.load_events_about(mine.address) == []
    assert len(anonymise.load_events_about(other.address)) == 1


def test_retry_of_an_event_is_recognised_by_its_trace(sent: Edition) -> None:
    copy = copies_of(sent)[0]
    body = event(key_of(sent, copy.recipient_id), "m-1", Recipient=copy.address)
    for number in range(2):
        headers = {"X-PM-Webhook-Trace-Id": "trace-1"}
        assert post(body | {"ServerID": number}, **headers) == 200
    assert post(body | {"ServerID": 0}, **{"X-PM-Webhook-Trace-Id": "trace-2"}) == 200
    assert ProviderEvent.objects.count() == 1


@pytest.mark.parametrize("trace", ["", "x" * 101, "tr\xe4ce"])
def test_an_invalid_trace_loses_no_event(sent: Edition, trace: str) -> None:
    for number in range(2):
        assert post({"RecordType": "Open", "n": number}, **{"X-PM-Webhook-Trace-Id": trace}) == 200
    assert [event.trace for event in ProviderEvent.objects.all()] == [None, None]


def exceeded(left: int, bounced: int, complained: int) -> Reason | None:
    rates = {
        ReasonCode.COMPLAINT_RATE: (complained, Limit(0.1, 3)),
        ReasonCode.BOUNCE_RATE: (bounced, Limit(4, 10)),
    }
    return find_exceeded_rate(left, rates)


@pytest.mark.parametrize(
    ("left", "bounced", "complained", "code"),
    [
        (250, 10, 0, "bounce_rate"),
        (251, 10, 0, None),
        (20, 9, 0, None),
        (20, 10, 0, "bounce_rate"),
        (1000, 39, 0, None),
        (1000, 40, 0, "bounce_rate"),
        (3000, 0, 3, "complaint_rate"),
        (3001, 0, 3, None),
        (3, 0, 2, None),
        (100, 50, 50, "complaint_rate"),
        (0, 50, 50, None),
    ],
)
def test_both_the_rate_and_the_number_must_be_reached(
    left: int, bounced: int, complained: int, code: str | None
) -> None:
    reason = exceeded(left, bounced, complained)
    assert (reason.code if reason else None) == code


def test_the_sentence_states_the_numbers_and_the_limit() -> None:
    reason = exceeded(1250, 60, 0)
    assert reason_sentence(reason) == (
        "Homing paused this issue because the bounce rate is above the limit. Bounced: 60 of 1,250 "
        "(4.8 %, limit 4 %). Check where these readers came from, then resume or cancel."
    )
