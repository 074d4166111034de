"""Webhooks: what is posted when, with which credentials, and what is tried again."""

from base64 import b64encode

import pytest

from postmark_sandbox.http import post
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
    for event, times in (("Bounce", 1), ("Delivery", 2)):
        posting.post("/__sandbox__/events", {"event": event, "message": message_id, "times": times})
    kinds = [e["RecordType"] for e in receiver.events(5)]
    assert kinds == ["Delivery", "Bounce", "SubscriptionChange", "Delivery", "Delivery"]
    traces = [headers["x-pm-webhook-trace-id"] for headers, _ in receiver.got]
    assert traces[3] == traces[4]
    assert len(set(traces)) == 4


def test_retries_keep_the_trace_id(receiver: Receiver) -> None:
    receiver.statuses = [503, 429]
    with SandboxServer(webhook_url=receiver.url, webhook_waits_s=(0, 0, 0)) as server:
        Caller(server.url).send(a_message())
        receiver.events(3)
        traces = [headers["x-pm-webhook-trace-id"] for headers, _ in receiver.got]
        left = [headers["x-pm-retries-remaining"] for headers, _ in receiver.got]
    assert len(set(traces)) == 1
    assert left == ["3", "2", "1"]


def test_another_refusal_loses_the_event_for_good(posting: Caller, receiver: Receiver) -> None:
    receiver.statuses = [401]
    posting.send(*messages(2))
    assert [e["Recipient"][:7] for e in receiver.events(2)] == ["reader1", "reader2"]
    counts = posting.summary()["webhooks"]
    assert (counts["lost"], counts["retried"]) == (1, 0)


def test_webhook_gets_only_its_events_with_its_headers(caller: Caller, receiver: Receiver) -> None:
    headers = {"X-Forwarded-Proto": "https"}
    webhook = {"url": receiver.url, "headers": headers, "events": ["Bounce"]}
    assert caller.post("/__sandbox__/webhooks", webhook).json["active"] is True
    caller.send(a_message(1), a_message(2, To="hardbounce@bounce.example"))
    assert receiver.events(1)[0]["RecordType"] == "Bounce"
    assert receiver.got[0][0]["x-forwarded-proto"] == "https"
    assert caller.post("/__sandbox__/hurry", {}).json["webhooks"] == 0
    assert caller.post("/__sandbox__/webhooks", {"url": None}).json["active"] is False
    caller.send(a_message(3, To="softbounce@bounce.example"))
    assert len(receiver.got) == 1


@pytest.mark.parametrize("status", [302, 307])
def test_redirects_are_followed_with_the_event(
    posting: Caller, receiver: Receiver, status: int
) -> None:
    receiver.moves = {"/hooks/?a=b": (status, "/there?x=y"), "/there?x=y": (status, "/end/")}
    posting.send(a_message(1))
    assert receiver.events(1)[0]["Recipient"] == "reader1@example.net"
    assert receiver.got[0][0]["path"] == "/end/"


def test_credentials_do_not_follow_a_redirect_to_another_host(
    posting: Caller, receiver: Receiver
) -> None:
    with Receiver() as other:
        receiver.moves = {"/hooks/?a=b": (307, f"{other.base}/end/")}
        posting.send(a_message(1))
        other.events(1)
        assert "authorization" not in other.got[0][0]


def test_the_sandbox_follows_ten_redirects_and_no_more(receiver: Receiver) -> None:
    receiver.moves = {f"/{n}/": (302, f"/{n + 1}/") for n in range(11)}
    posted = [post(f"{receiver.base}/{n}/", b"{}", {}) for n in (1, 0)]
    assert (posted, len(receiver.got)) == ([200, 302], 1)
