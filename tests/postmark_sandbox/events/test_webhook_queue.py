"""The sandbox posts webhooks with the right times, credentials and retries."""

from base64 import b64encode
from collections.abc import Iterator

from postmark_sandbox.events.webhook_queue import WebhookQueue
from postmark_sandbox.faults.fault_rules import FaultRules
from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, a_message, messages
from tests.postmark_sandbox.webhook_receiver import Receiver


def test_every_accepted_message_posts_a_delivery(posting: Caller, receiver: Receiver) -> None:
    results = posting.send(*messages(3))
    events = receiver.events(3)
    assert [e["RecordType"] for e in events] == ["Delivery"] * 3
    assert [e["MessageID"] for e in events] == [r["MessageID"] for r in results]
    assert events[0]["Recipient"] == "reader1@example.net"
    assert events[0]["Metadata"] == a_message(1)["Metadata"]
    assert (events[0]["MessageStream"], events[0]["Tag"]) == ("broadcast", "issue-1")


def test_credentials_and_path_are_those_of_the_url(posting: Caller, receiver: Receiver) -> None:
    posting.send(a_message())
    receiver.events(1)
    headers = receiver.got[0][0]
    assert headers["authorization"] == f"Basic {b64encode(b'pm:s:cret').decode()}"
    assert headers["path"] == "/hooks/?a=b"
    assert headers["content-type"] == "application/json"
    assert len(headers["x-pm-webhook-trace-id"]) == 36


def test_a_hard_bounce_and_a_complaint_also_change_the_subscription(
    posting: Caller, receiver: Receiver
) -> None:
    posting.send(a_message(1, To="hardbounce@bounce.example"))
    posting.send(a_message(2, To="complaint@bounce.example"))
    events = receiver.events(5)
    assert [(e["RecordType"], e.get("Email") or e.get("Recipient")) for e in events] == [
        ("Bounce", "hardbounce@bounce.example"),
        ("SubscriptionChange", "hardbounce@bounce.example"),
        ("SpamComplaint", "complaint@bounce.example"),
        ("SubscriptionChange", "complaint@bounce.example"),
        ("Delivery", "complaint@bounce.example"),
    ]
    assert (events[0]["Type"], events[0]["Inactive"]) == ("HardBounce", True)
    assert events[1]["SuppressionReason"] == "HardBounce"
    assert events[2]["CanActivate"] is False


def test_unsubscribe_and_reactivation_are_posted(posting: Caller, receiver: Receiver) -> None:
    posting.send(a_message(1, To="unsubscribe@bounce.example"))
    receiver.events(2)
    posting.post(
        "/__sandbox__/events",
        {"event": "Reactivate", "stream": "broadcast", "address": "unsubscribe@bounce.example"},
    )
    left, _, back = receiver.events(3)
    assert (left["SuppressSending"], left["Origin"]) == (True, "Recipient")
    assert left["SuppressionReason"] == "ManualSuppression"
    assert left["MessageID"] is not None
    assert (back["SuppressSending"], back["MessageID"], back["Tag"]) == (False, None, None)
    assert (back["SuppressionReason"], back["Metadata"]) == (None, {})


def test_events_can_be_made_repeated_and_out_of_order(posting: Caller, receiver: Receiver) -> None:
    message_id = posting.send(a_message(1))[0]["MessageID"]
    receiver.events(1)
    for event, times in (("Bounce", 1), ("Delivery", 2)):
        posting.post("/__sandbox__/events", {"event": event, "message": message_id, "times": times})
    kinds = [e["RecordType"] for e in receiver.events(5)]
    assert kinds == ["Delivery", "Bounce", "SubscriptionChange", "Delivery", "Delivery"]
    traces = [headers["x-pm-webhook-trace-id"] for headers, _ in receiver.got]
    assert traces[3] == traces[4]
    assert len(set(traces)) == 4


def test_single_events_overtake_those_of_whole_calls(receiver: Receiver) -> None:
    queue = WebhookQueue(receiver.url, (), FaultRules(1))

    def of_call() -> Iterator[dict[str, str]]:
        yield event("Delivery")
        queue.send([event("Bounce")])
        yield event("Delivery")
        yield event("Delivery")

    def event(kind: str) -> dict[str, str]:
        return {"RecordType": kind, "MessageStream": "broadcast"}

    queue.send(of_call(), of_call=True)
    kinds = [e["RecordType"] for e in receiver.events(4)]
    queue.stop()
    assert kinds == ["Delivery", "Delivery", "Bounce", "Delivery"]


def test_retries_keep_the_trace_id(receiver: Receiver) -> None:
    receiver.statuses = [503, 429]
    with SandboxServer(webhook_url=receiver.url, webhook_waits_s=(0, 0, 0)) as server:
        Caller(server.url).send(a_message())
        receiver.events(3)
        traces = [headers["x-pm-webhook-trace-id"] for headers, _ in receiver.got]
        left = [headers["x-pm-retries-remaining"] for headers, _ in receiver.got]
    assert len(set(traces)) == 1
    assert left == ["3", "2", "1"]


def test_other_refusals_lose_the_event(posting: Caller, receiver: Receiver) -> None:
    receiver.statuses = [401]
    posting.send(*messages(2))
    assert [e["Recipient"][:7] for e in receiver.events(2)] == ["reader1", "reader2"]
    counts = posting.summary()["webhooks"]
    assert (counts["lost"], counts["retried"]) == (1, 0)
