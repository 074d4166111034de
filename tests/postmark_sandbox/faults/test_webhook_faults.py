"""Events that are told twice, late, in another order, of strangers, or before the reply."""

import pytest

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, a_message, messages
from tests.postmark_sandbox.webhook_receiver import Receiver


def whom(receiver: Receiver, count: int) -> list[str]:
    """The readers of the first events, by number."""
    return [e["Recipient"].removeprefix("reader").split("@")[0] for e in receiver.events(count)]


def order_of(seed: int, **settings: object) -> list[str]:
    """In which order eight deliveries come in a sandbox of its own."""
    receiver = Receiver()
    try:
        with SandboxServer(webhook_url=receiver.url) as server:
            caller = Caller(server.url)
            caller.fault("webhook_reorder", seed=seed, k=8, seconds=600, **settings)
            caller.send(*messages(8))
            return whom(receiver, 8)
    finally:
        receiver.stop()


def test_an_event_is_told_again_under_the_same_trace_id(told: Caller, receiver: Receiver) -> None:
    told.fault("webhook_duplicate", k=2)
    told.send(*messages(2))
    assert whom(receiver, 4) == ["1", "1", "1", "2"]
    traces = [headers["x-pm-webhook-trace-id"] for headers, _ in receiver.got]
    assert len(set(traces[:3])) == 1
    assert traces[3] != traces[0]


def test_events_are_mixed_within_a_window_by_a_seed() -> None:
    first = order_of(1)
    assert sorted(first) == list("12345678")
    assert first != list("12345678")
    assert order_of(1) == first
    assert order_of(2) != first


def test_windows_follow_one_another_where_more_than_one_is_asked_for(
    told: Caller, receiver: Receiver
) -> None:
    told.fault("webhook_reorder", k=2, seconds=600, calls=None)
    told.send(*messages(4))
    assert whom(receiver, 4) == ["2", "1", "4", "3"]
    told.post("/__sandbox__/reset", {})
    told.fault("webhook_reorder", k=2, seconds=600)
    told.send(*messages(5))
    assert whom(receiver, 9)[4:] == ["2", "1", "3", "4", "5"]


@pytest.mark.parametrize("kind", ["webhook_delay", "webhook_very_late"])
def test_an_event_is_late_and_others_pass_it(told: Caller, receiver: Receiver, kind: str) -> None:
    told.fault(kind, seconds=600)
    told.send(*messages(3))
    assert whom(receiver, 2) == ["2", "3"]
    assert told.summary()["webhooks"]["idle"] is False
    assert told.post("/__sandbox__/hurry", {}).json["webhooks"] == 1
    assert whom(receiver, 3) == ["2", "3", "1"]


def test_a_message_that_nobody_sent_is_told_of_beside_the_true_event(
    told: Caller, receiver: Receiver
) -> None:
    told.fault("webhook_unknown_message", path="Bounce", seed=7)
    sent = told.send(a_message(1, To="softbounce@bounce.example"))[0]
    true, stranger = receiver.events(2)
    assert true["MessageID"] == sent["MessageID"]
    assert (stranger["RecordType"], stranger["Metadata"]) == ("Bounce", {})
    assert stranger["MessageID"] != true["MessageID"]
    assert stranger["Email"].endswith("@unknown.example")
    assert stranger["ID"] != true["ID"]


def test_a_delivery_is_told_after_the_bounce(told: Caller, receiver: Receiver) -> None:
    told.fault("webhook_delivery_after_bounce")
    sent = told.send(a_message(1, To="hardbounce@bounce.example"))[0]
    bounce, delivery, change = receiver.events(3)
    kinds = [event["RecordType"] for event in (bounce, delivery, change)]
    assert kinds == ["Bounce", "Delivery", "SubscriptionChange"]
    assert delivery["MessageID"] == sent["MessageID"]
    assert delivery["Recipient"] == "hardbounce@bounce.example"
    assert delivery["Metadata"] == bounce["Metadata"]
    assert delivery["DeliveredAt"] > bounce["BouncedAt"]


def test_the_webhooks_are_told_before_the_reply(told: Caller, receiver: Receiver) -> None:
    told.fault("webhook_before_reply")
    told.send(*messages(50))
    assert len(receiver.got) == 50


def test_a_rule_may_watch_one_type_of_event_and_one_reader(
    told: Caller, receiver: Receiver
) -> None:
    told.fault("webhook_duplicate", path="Bounce,SubscriptionChange", calls=None)
    told.fault("webhook_duplicate", recipient="Reader2@example.net")
    told.send(a_message(1, To="hardbounce@bounce.example"), a_message(2), a_message(3))
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


def test_several_rules_act_on_one_event(told: Caller, receiver: Receiver) -> None:
    told.fault("webhook_duplicate")
    told.fault("webhook_delay", seconds=600)
    told.send(*messages(2))
    assert whom(receiver, 1) == ["2"]
    assert told.post("/__sandbox__/hurry", {}).json["webhooks"] == 2
    assert whom(receiver, 3) == ["2", "1", "1"]


SUPPRESSIONS = "/message-streams/broadcast/suppressions"
ADA = {"Suppressions": [{"EmailAddress": "ada@example.net"}]}


def listed(caller: Caller) -> list[str]:
    dump = caller.get(f"{SUPPRESSIONS}/dump").json["Suppressions"]
    return [entry["EmailAddress"] for entry in dump]


def test_late_events_and_changes_arrive_automatically(told: Caller, receiver: Receiver) -> None:
    told.fault("webhook_delay", seconds=0.05)
    told.send(*messages(2))
    assert sorted(whom(receiver, 2)) == ["1", "2"]
    told.fault("webhook_reorder", k=100, seconds=0.05)
    told.send(*messages(2))
    assert sorted(whom(receiver, 4)[2:]) == ["1", "2"]
    told.fault("suppression_delay", seconds=0.05)
    told.post(SUPPRESSIONS, ADA)
    change = receiver.events(5)[4]
    assert (change["SuppressSending"], change["MessageID"]) == (True, None)
    assert listed(told) == ["ada@example.net"]


def test_a_change_of_a_suppression_list_takes_effect_later(
    told: Caller, receiver: Receiver
) -> None:
    told.fault("suppression_delay", seconds=600)
    made = told.post(SUPPRESSIONS, ADA).json["Suppressions"][0]
    assert made["Status"] == "Suppressed"
    assert listed(told) == []
    assert told.send(a_message(1, To="ada@example.net"))[0]["ErrorCode"] == 0
    assert told.post("/__sandbox__/hurry", {}).json["changes"] == 1
    assert listed(told) == ["ada@example.net"]
    assert [e["RecordType"] for e in receiver.events(2)] == ["Delivery", "SubscriptionChange"]
    lifted = told.post(f"{SUPPRESSIONS}/delete", ADA).json["Suppressions"][0]
    assert lifted["Status"] == "Deleted"
    assert listed(told) == ["ada@example.net"]
    told.post("/__sandbox__/hurry", {})
    assert listed(told) == []


def test_a_reset_forgets_what_was_still_to_come(told: Caller, receiver: Receiver) -> None:
    told.fault("suppression_delay", seconds=600)
    told.post(SUPPRESSIONS, ADA)
    told.fault("webhook_delay", seconds=600)
    told.send(a_message(1))
    told.post("/__sandbox__/reset", {})
    assert told.post("/__sandbox__/hurry", {}).json == {"changes": 0, "webhooks": 0}
