"""Our changes to the provider's suppression list: their order, and refusals."""

from typing import Any

import pytest

from delivery.feedback.send_suppression_changes import (
    push_suppression_changes,
    queue_suppression_change,
)
from delivery.models import PeriodicTask, SuppressionChange
from subscribers.models import Subscriber, Suppression
from tests.delivery.edition_factory import Newsroom
from tests.delivery.webhook_events import post


def push() -> None:
    push_suppression_changes(lambda: False)


def listed(newsroom: Newsroom) -> set[str]:
    return set(newsroom.sandbox.suppressions.of("broadcast"))


def latest_first(address: str) -> list[SuppressionChange]:
    return list(SuppressionChange.objects.filter(address_key=address).order_by("-id"))


def states(address: str) -> list[str]:
    return [change.state for change in latest_first(address)]


def test_unsubscribed_readers_are_added_to_the_providers_list(newsroom: Newsroom) -> None:
    for number in range(120):
        queue_suppression_change(f"reader{number}@example.net", "suppress")
    push()
    assert len(listed(newsroom)) == 120
    assert set(SuppressionChange.objects.values_list("state", flat=True)) == {"done"}


def test_only_the_last_request_about_an_address_is_sent(newsroom: Newsroom) -> None:
    queue_suppression_change("a@example.net", "suppress")
    queue_suppression_change("A@example.net", "reactivate")
    queue_suppression_change("b@example.net", "reactivate")
    queue_suppression_change("b@example.net", "suppress")
    push()
    assert listed(newsroom) == {"b@example.net"}
    assert states("a@example.net") == ["done", "superseded"]
    assert states("b@example.net") == ["done", "superseded"]


def test_returning_readers_are_removed_from_the_providers_list(newsroom: Newsroom) -> None:
    queue_suppression_change("a@example.net", "suppress")
    push()
    queue_suppression_change("a@example.net", "reactivate")
    push()
    assert listed(newsroom) == set()
    assert states("a@example.net") == ["done", "done"]


def test_refused_change_is_recorded_with_its_reason(newsroom: Newsroom) -> None:
    newsroom.sandbox.events.suppress("broadcast", "a@example.net", "ManualSuppression", "Recipient")
    queue_suppression_change("a@example.net", "reactivate")
    queue_suppression_change("b@example.net", "reactivate")
    push()
    (refused,) = latest_first("a@example.net")
    assert refused.state == "refused"
    assert "authority" in refused.refusal_reason
    assert states("b@example.net") == ["done"]


@pytest.mark.parametrize("fault", ["refuse_429", "accept_then_close"])
def test_a_change_without_an_answer_is_sent_again(newsroom: Newsroom, fault: str) -> None:
    queue_suppression_change("a@example.net", "suppress")
    newsroom.sandbox.set_fault(fault, path="/message-streams/*/suppressions", calls=1)
    push()
    assert states("a@example.net") == ["waiting"]
    assert PeriodicTask.objects.get().failures == 1
    # The change is not sent again at once.
    push()
    assert states("a@example.net") == ["waiting"]

    PeriodicTask.objects.update(due_at="2000-01-01T00:00:00Z")
    push()
    assert states("a@example.net") == ["done"]
    assert listed(newsroom) == {"a@example.net"}


def echo(**more: Any) -> dict[str, Any]:
    return {
        "RecordType": "SubscriptionChange",
        "MessageStream": "broadcast",
        "Recipient": "reader0@example.net",
        "Origin": "Customer",
        "SuppressSending": True,
        "SuppressionReason": "ManualSuppression",
        "ChangedAt": "2999-01-01T00:00:00Z",
        **more,
    }


def test_a_webhook_about_our_own_request_changes_nothing(newsroom: Newsroom) -> None:
    newsroom.confirm(2)
    queue_suppression_change("Reader0@example.net", "suppress")

    assert post(echo()) == 200
    assert not Suppression.objects.exists()
    # A change by another user of the Postmark account is recorded. It does not unsubscribe the
    # reader.
    assert post(echo(Recipient="reader1@example.net")) == 200
    (entry,) = Suppression.objects.all()
    assert entry.address_key == "reader1@example.net"
    assert (entry.reason, entry.origin) == ("manual", "provider")
    assert {reader.state for reader in Subscriber.objects.all()} == {"confirmed"}


def test_earlier_suppression_is_not_our_own(newsroom: Newsroom) -> None:
    newsroom.confirm(1)
    queue_suppression_change("reader0@example.net", "suppress")
    assert post(echo(ChangedAt="2026-01-01T00:00:00Z")) == 200
    assert Suppression.objects.count() == 1
