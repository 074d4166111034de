"""A provider that Homing does not know, through the whole seam."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from delivery.check_settings import check_settings
from delivery.feedback.send_suppression_changes import (
    push_suppression_changes,
    queue_suppression_change,
)
from delivery.models import Alarm, Attempt, Batch, SuppressionChange
from delivery.provider.from_settings import policy_from_settings
from publishing.rehearsal.rehearse import RehearsalReport
from subscribers.models import Subscriber
from tests.delivery.edition_factory import Newsroom, copies_of
from tests.delivery.provider.pigeon_post import (
    EMPTY_ROOF,
    Loft,
    PigeonPost,
    authorization,
    report,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def newsroom(settings: Any) -> Iterator[Newsroom]:
    settings.MAIL_PROVIDER = "tests.delivery.provider.pigeon_post.PigeonPost"
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0, 900.0)
    settings.SECURE_SSL_REDIRECT = False
    Loft.clear()
    yield Newsroom()
    Loft.clear()


def post(body: bytes, path: str = "pigeon") -> int:
    return (
        Client()
        .post(
            f"/webhooks/{path}/",
            body,
            "application/json",
            headers={"Authorization": authorization()},
        )
        .status_code
    )


def test_an_issue_leaves_in_batches_of_its_size(newsroom: Newsroom, settings: Any) -> None:
    settings.DELIVERY_BATCH_SIZE = 500
    edition = newsroom.publish(readers=11)
    assert sorted(Batch.objects.values_list("size", flat=True)) == [1, 5, 5]
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 11
    assert len({one["to"] for one in Loft.left}) == 11
    first = Loft.left[0]
    assert first["subject"] == "Swifts"
    assert {name for name, _ in first["headers"]} >= {"Message-ID", "List-Unsubscribe", "List-Id"}
    assert newsroom.counts(edition).balanced


def test_a_refused_address_is_no_reader_any_more(newsroom: Newsroom) -> None:
    newsroom.confirm(3, addresses={1: "gull@sea.example"})
    edition = newsroom.publish()
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "failed", "sent"]
    assert Subscriber.objects.get(email="gull@sea.example").state == "bounced"


def test_a_lost_reply_is_looked_up_copy_by_copy(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    Loft.loses_replies = True
    newsroom.step()
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    Loft.loses_replies = False
    # One bird never left.
    Loft.left.pop()
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition).count("sent") == 2
    # Silence counts after the whole schedule, and after a check mail that the search shows.
    for _ in range(3):
        newsroom.deliver_after(1000)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    to = [one["to"] for one in Loft.left]
    assert to.count(EMPTY_ROOF) == 1
    assert len(to) == len(set(to)) == 4
    assert newsroom.counts(edition).balanced


@pytest.mark.parametrize("now_through", ["postmark", "django"])
def test_another_provider_is_not_asked_about_earlier_calls(
    newsroom: Newsroom, settings: Any, now_through: str
) -> None:
    edition = newsroom.publish(readers=2)
    Loft.loses_replies = True
    newsroom.step()
    # Nothing answers there, so a search would fail and be repeated.
    settings.MAIL_PROVIDER, settings.EMAIL_HOST = now_through, "127.0.0.1"
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["unknown"] * 2
    assert newsroom.counts(edition).parked_batches == 1


def test_a_report_settles_a_copy_and_another_marks_a_reader(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    Loft.loses_replies = True
    newsroom.step()
    first, second = Loft.left
    assert post(report(first, "arrived")) == 200
    assert post(report(first, "arrived")) == 200
    assert post(report(second, "lost")) == 200
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    arrived, lost = copies_of(edition)
    assert arrived.delivered_at is not None
    assert lost.bounced_at is not None
    assert Subscriber.objects.get(email=second["to"]).state == "bounced"
    assert Attempt.objects.get(edition=edition).accepted == 2
    assert not Alarm.objects.exists()


def test_reports_of_other_providers_have_no_address_here(newsroom: Newsroom) -> None:
    assert post(b"{}", path="postmark") == 404
    assert post(b"not json") == 200


def test_changes_for_an_earlier_provider_wait(newsroom: Newsroom) -> None:
    address = "reader@example.net"
    SuppressionChange.objects.create(
        address=address, address_key=address, stream="broadcast", change="suppress"
    )
    push_suppression_changes(lambda: False)
    assert SuppressionChange.objects.get().state == SuppressionChange.State.WAITING
    queue_suppression_change(address, "reactivate")
    assert SuppressionChange.objects.count() == 1


def test_without_a_record_nothing_can_be_reconciled(newsroom: Newsroom) -> None:
    with pytest.raises(CommandError, match=r"^Pigeon Post has no record"):
        call_command("reconcile")


@pytest.mark.parametrize("name", ["tests.nowhere.Post", "delivery.provider.events.Delivered"])
def test_a_wrong_class_is_named(settings: Any, name: str) -> None:
    settings.MAIL_PROVIDER = name
    (found,) = [one for one in check_settings() if one.id == "delivery.E004"]
    assert found.msg.startswith(f"MAIL_PROVIDER is '{name}'")
    assert "expected postmark, django, or the path" in found.msg


def test_resending_without_asking_is_refused(newsroom: Newsroom, settings: Any) -> None:
    settings.MAIL_PROVIDER, settings.EMAIL_HOST = "django", "smtp.example.org"
    settings.EMAIL_USE_TLS, settings.DELIVERY_UNKNOWN_POLICY = True, "resend"
    assert [one.id for one in check_settings()] == ["delivery.E003"]
    assert not policy_from_settings().resend_when_absent


def test_a_rehearsal_asks_the_provider(newsroom: Newsroom) -> None:
    found = RehearsalReport()
    body = b'[{"html": "", "text": "%s"}, {"html": "ab", "text": "c"}]' % (b"x" * 1_001)
    for recipient, judged in enumerate(PigeonPost.judge(body)):
        found.add_message(recipient, judged)
    assert [one["reader"] for one in found.named] == [0]
    assert found.as_json()["largest"] == 1_001
