"""The sandbox posts events twice, late, reordered, or about unknown messages."""

import pytest

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, a_message, messages
from tests.postmark_sandbox.webhook_receiver import Receiver


def readers(receiver: Receiver, count: int) -> list[str]:
    """Return the numbers of the readers in the first events."""
    return [e["Recipient"].removeprefix("reader").split("@")[0] for e in receiver.events(count)]


def order_of(seed: int, **settings: object) -> list[str]:
    """Return the order in which eight deliveries arrive in a new sandbox."""
    with Receiver() as receiver, SandboxServer(webhook_url=receiver.url) as server:
        caller = Caller(server.url)
        caller.fault("webhook_reorder", seed=seed, k=8, seconds=600, **settings)
        caller.send(*messages(8))
        return readers(receiver, 8)


def test_duplicate_event_has_the_same_trace_id(posting: Caller, receiver: Receiver) -> None:
    posting.fault("webhook_duplicate", k=2)
    posting.send(*messages(2))
    assert readers(receiver, 4) == ["1", "1", "1", "2"]
    traces = [headers["x-pm-webhook-trace-id"] for headers, _ in receiver.got]
    assert len(set(traces[:3])) == 1
    assert traces[3] != traces[0]


def test_events_are_mixed_within_a_window_by_a_seed() -> None:
    first = order_of(1)
    assert sorted(first) == list("12345678")
    assert first != list("12345678")
    assert order_of(1) == first
    assert order_of(2) != first


def test_reordering_windows_follow_one_another(posting: Caller, receiver: Receiver) -> None:
    posting.fault("webhook_reorder", k=2, seconds=600, calls=None)
    posting.send(*messages(4))
    assert readers(receiver, 4) == ["2", "1", "4", "3"]
    posting.post("/__sandbox__/reset", {})
    posting.fault("webhook_reorder", k=2, seconds=600)
    posting.send(*messages(5))
    assert readers(receiver, 9)[4:] == ["2", "1", "3", "4", "5"]


@pytest.mark.parametrize("kind", ["webhook_delay", "webhook_very_late"])
def test_other_events_arrive_before_a_late_event(
    posting: Caller, receiver: Receiver, kind: str
) -> None:
    posting.fault(kind, seconds=600)
    posting.send(*messages(3))
    assert readers(receiver, 2) == ["2", "3"]
    assert posting.summary()["webhooks"]["idle"] is False
    assert posting.post("/__sandbox__/hurry", {}).json["webhooks"] == 1
    assert readers(receiver, 3) == ["2", "3", "1"]


def test_event_about_unknown_message_is_posted_in_addition(
    posting: Caller, receiver: Receiver
) -> None:
    posting.fault("webhook_unknown_message", path="Bounce", seed=7)
    sent = posting.send(a_message(1, To="softbounce@bounce.example"))[0]
    true, stranger = receiver.events(2)
    assert true["MessageID"] == sent["MessageID"]
    assert (stranger["RecordType"], stranger["Metadata"]) == ("Bounce", {})
    assert stranger["MessageID"] != true["MessageID"]
    assert stranger["Email"].endswith("@unknown.example")
    assert true["ID"] != stranger["ID"] < 2**31


def test_delivery_is_posted_after_the_bounce(posting: Caller, receiver: Receiver) -> None:
    posting.fault("webhook_delivery_after_bounce")
    sent = posting.send(a_message(1, To="hardbounce@bounce.example"))[0]
    bounce, delivery, change = receiver.events(3)
    kinds = [event["RecordType"] for event in (bounce, delivery, change)]
    assert kinds == ["Bounce", "Delivery", "SubscriptionChange"]
    assert delivery["MessageID"] == sent["MessageID"]
    assert delivery["Recipient"] == "hardbounce@bounce.example"
    assert delivery["Metadata"] == bounce["Metadata"]
    assert delivery["DeliveredAt"] > bounce["BouncedAt"]


def test_rule_can_watch_one_event_type_and_one_reader(posting: Caller, receiver: Receiver) -> None:
    posting.fault("webhook_duplicate", path="Bounce,SubscriptionChange", calls=None)
    posting.fault("webhook_duplicate", recipient="Reader2@example.net")
    posting.send(a_message(1, To="hardbounce@bounce.example"), a_message(2), a_message(3))
    kinds = [(e["RecordType"], e.get("Recipient")) for e in receiver.events(7)]
    bounced = "hardbounce@bounce.example"
    assert kinds == [
        ("Bounce", None),
        ("Bounce", None),
        ("SubscriptionChange", bounced),
        ("SubscriptionChange", bounced),
        ("Delivery", "reader2@example.net"),
        ("Delivery", "reader2@example.net"),
        ("Delivery", "reader3@example.net"),
    ]


def test_several_rules_act_on_one_event(posting: Caller, receiver: Receiver) -> None:
    posting.fault("webhook_duplicate")
    posting.fault("webhook_delay", seconds=600)
    posting.send(*messages(2))
    assert readers(receiver, 1) == ["2"]
    assert posting.post("/__sandbox__/hurry", {}).json["webhooks"] == 2
    assert readers(receiver, 3) == ["2", "1", "1"]


def test_late_events_arrive_automatically(posting: Caller, receiver: Receiver) -> None:
    posting.fault("webhook_delay", seconds=0.05)
    posting.send(*messages(2))
    assert sorted(readers(receiver, 2)) == ["1", "2"]
    posting.fault("webhook_reorder", k=100, seconds=0.05)
    posting.send(*messages(2))
    assert sorted(readers(receiver, 4)[2:]) == ["1", "2"]


def test_reset_drops_late_events(posting: Caller, receiver: Receiver) -> None:
    posting.fault("webhook_delay", seconds=600)
    posting.send(a_message(1))
    posting.post("/__sandbox__/reset", {})
    assert posting.post("/__sandbox__/hurry", {}).json == {"webhooks": 0}
