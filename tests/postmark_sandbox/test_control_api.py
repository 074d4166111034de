"""The control API counts messages, prepares state, and explains refusals."""

from http.client import HTTPConnection
from typing import Any

import pytest

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import ATTEMPT, ISSUE, Caller, a_message, messages

MAIL = {"MessageStream": "outbound"}


def test_the_summary_counts_messages_streams_copies_and_calls(caller: Caller) -> None:
    caller.send(*messages(3))
    caller.send(a_message(1), a_message(4, MessageStream="outbound", Metadata=None))
    caller.post("/email", a_message(5, To="nobody"))
    caller.send(a_message(6, To="test@blackhole.postmarkapp.com", Metadata={"check": "1"}))
    caller.search()
    summary = caller.summary()
    calls = summary.pop("calls")
    summary.pop("webhooks")
    assert summary == {
        "accepted": 5,
        "dropped": 1,
        "by_stream": {"broadcast": 4, "outbound": 1},
        "distinct_deliveries": 3,
        "deliveries_with_more_than_one_copy": 1,
        "readers_with_two_of_one_edition": 1,
        "without_delivery_key": 1,
        "accepted_without_telling": 0,
        "bounces": 0,
        "held": 0,
    }
    assert calls == {
        "total": 5,
        "by_status": {"200": 4, "422": 1},
        "by_path": {"/email/batch": 3, "/email": 1, "/messages/outbound": 1},
        "by_fault": {},
    }


def test_copies_lists_doubled_deliveries_or_all(caller: Caller) -> None:
    caller.send(*messages(3))
    caller.send(a_message(2))
    caller.send(a_message(2))
    assert caller.get("/__sandbox__/copies").json == {
        "distinct_deliveries": 3,
        "copies": {f"{ISSUE}.1.2": 3},
    }
    assert caller.get("/__sandbox__/copies", more_than=3).json["copies"] == {}
    assert caller.get("/__sandbox__/copies", all=1).json["copies"] == {
        f"{ISSUE}.1.1": 1,
        f"{ISSUE}.1.2": 3,
        f"{ISSUE}.1.3": 1,
    }


@pytest.mark.parametrize(
    ("sent", "twice"),
    [
        (messages(3), 0),
        ([*messages(3), a_message(2)], 1),
        ([a_message(1, To="one@example.net"), a_message(2, To="ONE@example.net")], 1),
        # Copies of different editions and different requested mails do not count as second copies.
        ([a_message(1, Metadata={"delivery": f"issue.{version}.1"}) for version in (1, 2)], 0),
        ([a_message(1, Metadata={"delivery": f"confirm.1.{n}"}, **MAIL) for n in (1, 2)], 0),
    ],
)
def test_reader_with_two_copies_of_one_edition_is_found(
    caller: Caller, sent: list[dict[str, Any]], twice: int
) -> None:
    caller.send(*sent)
    assert caller.summary()["readers_with_two_of_one_edition"] == twice


def test_messages_are_listed_in_pages(caller: Caller) -> None:
    results = caller.send(*messages(5))
    listed = caller.get("/__sandbox__/messages", count=2, offset=1).json
    assert listed["total"] == 5
    assert [m["id"] for m in listed["messages"]] == [
        results[3]["MessageID"],
        results[2]["MessageID"],
    ]
    newest = listed["messages"][0]
    assert newest["recipients"] == ["reader4@example.net"]
    assert newest["metadata"] == {"delivery": f"{ISSUE}.1.4", "attempt": ATTEMPT}
    assert newest["reply"] == ""
    assert caller.get("/__sandbox__/messages", q="reader2@").json["total"] == 1


def test_reset_restores_the_initial_state(caller: Caller) -> None:
    before = caller.send(a_message(1, To="hardbounce@bounce.example"))[0]["MessageID"]
    caller.fault("refuse_429", calls=None)
    caller.post("/__sandbox__/account", {"state": "pending", "verified": ["example.com"]})
    assert caller.post("/__sandbox__/reset", {}).json == {"reset": True}
    assert caller.get("/__sandbox__/faults").json == {"faults": []}
    assert caller.summary()["calls"]["total"] == 0
    assert caller.get("/deliverystats").json["Bounces"][0]["Count"] == 0
    after = caller.send(a_message(1, To="hardbounce@bounce.example"))[0]
    assert (after["ErrorCode"], after["MessageID"] == before) == (0, False)
    assert caller.get(f"/messages/outbound/{before}/details").code == 701


def test_wait_counts_messages_and_calls_and_times_out(caller: Caller) -> None:
    caller.send(*messages(3))
    caller.search()
    reply = caller.get("/__sandbox__/wait", accepted=3, calls=2, timeout=20)
    assert (reply.status, reply.json["accepted"]) == (200, 3)
    for more in ({"held": 1}, {"accepted": 4}, {"calls": 3}):
        reply = caller.get("/__sandbox__/wait", **more, timeout=0)
        assert (reply.status, reply.json["reached"]) == (408, False)
    calls = caller.get("/__sandbox__/calls").json["calls"]
    newest_first = [(one["method"], one["messages"], one["accepted"]) for one in calls]
    assert newest_first == [("GET", 0, 0), ("POST", 3, 3)]


CANNOT_BE_READ = [
    ("POST", "faults", b"{", "Invalid JSON"),
    ("POST", "faults", b"[]", "The body must be a JSON object."),
    ("POST", "faults", b'{"kind": "fire"}', "There is no fault 'fire'."),
    ("POST", "release", b'{"outcome": "x"}', "expected 'answer' or 'close'"),
    ("POST", "account", b'{"state": "gone"}', "There is no account state 'gone'."),
    ("POST", "account", b'{"verified": "a"}', "'verified' is a list"),
    ("POST", "suppressions", b'{"addresses": "a"}', "Expected 'addresses' as a list"),
    ("POST", "suppressions", b'{"stream": "x", "addresses": []}', "was not found"),
    ("POST", "events", b'{"event": "Party"}', "'event' is one of"),
    ("POST", "events", b'{"event": "Bounce", "message": "5"}', "is the MessageID"),
    ("POST", "webhooks", b'{"url": "ftp://x"}', "The webhook URL must look like"),
    ("GET", "messages?count=x", None, "'count' is 'x'; expected a whole number."),
    ("GET", "wait?timeout=soon", None, "soon"),
    ("DELETE", "faults/x", None, "'x' is not the id of a fault."),
]


def test_unreadable_control_call_is_400_with_one_sentence(caller: Caller) -> None:
    for method, path, body, sentence in CANNOT_BE_READ:
        reply = caller.call(method, f"/__sandbox__/{path}", body)
        assert reply.status == 400, path
        assert sentence in reply.message
        assert "Traceback" not in reply.text
    unknown = caller.get("/__sandbox__/nothing")
    assert (unknown.status, "GET summary" in unknown.message) == (404, True)


def test_a_connection_serves_many_calls(server: SandboxServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {"X-Postmark-Server-Token": "t", "Accept": "application/json"}
    connection.connect()
    used = connection.sock
    for _ in range(5):
        connection.request("GET", "/message-streams", headers=headers)
        response = connection.getresponse()
        assert (response.status, bool(response.read())) == (200, True)
        assert connection.sock is used
    connection.close()
