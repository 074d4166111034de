"""Webhooks that are set up by API, with their events, headers and verification."""

import time
from base64 import b64encode
from typing import Any

import pytest

from tests.postmark_sandbox.caller import Caller, Reply, a_message, messages
from tests.postmark_sandbox.webhook_receiver import Receiver

ALL = ("Open", "Click", "Delivery", "Bounce", "SpamComplaint", "SubscriptionChange")


def a_hook(receiver: Receiver, *triggers: str, **more: Any) -> dict[str, Any]:
    """Return the body of a request for a webhook of the broadcast stream."""
    return {
        "Url": f"{receiver.base}/hooks/",
        "MessageStream": "broadcast",
        "Verify": False,
        "Triggers": {name: {"Enabled": True} for name in triggers or ("Delivery",)},
        **more,
    }


def created(caller: Caller, body: dict[str, Any]) -> dict[str, Any]:
    reply = caller.post("/webhooks", body)
    assert reply.status == 200, reply.text
    return dict(reply.json)


def put(caller: Caller, hook: dict[str, Any], body: bytes) -> Reply:
    return caller.call("PUT", f"/webhooks/{hook['ID']}", body)


def records(receiver: Receiver, count: int) -> list[str]:
    return [event["RecordType"] for event in receiver.events(count)]


def test_webhook_is_created_shown_listed_edited_and_removed(
    caller: Caller, receiver: Receiver
) -> None:
    body = a_hook(
        receiver,
        HttpAuth={"Username": "pm", "Password": "s:cret"},
        HttpHeaders=[{"Name": "X-Hook", "Value": "another"}],
    )
    hook = created(caller, body)
    assert hook == {
        "ID": hook["ID"],
        "Url": body["Url"],
        "MessageStream": "broadcast",
        "HttpAuth": body["HttpAuth"],
        "HttpHeaders": body["HttpHeaders"],
        "Triggers": {
            "Open": {"Enabled": False, "PostFirstOpenOnly": False},
            "Click": {"Enabled": False},
            "Delivery": {"Enabled": True},
            "Bounce": {"Enabled": False, "IncludeContent": False},
            "SpamComplaint": {"Enabled": False, "IncludeContent": False},
            "SubscriptionChange": {"Enabled": False},
        },
    }
    path = f"/webhooks/{hook['ID']}"
    assert caller.get(path).json == hook
    assert caller.get("/webhooks").json == {"Webhooks": [hook]}
    assert caller.get("/webhooks", MessageStream="outbound").json == {"Webhooks": []}
    edited = put(caller, hook, b'{"Verify": false, "Triggers": {"Bounce": {"Enabled": true}}}')
    assert edited.json["Triggers"]["Bounce"]["Enabled"] is True
    assert edited.json["Triggers"]["Delivery"]["Enabled"] is True
    assert edited.json["HttpHeaders"] == body["HttpHeaders"]
    assert caller.call("DELETE", path).json == {
        "ErrorCode": 0,
        "Message": f"Webhook {hook['ID']} removed.",
    }
    assert caller.get(path).status == 422
    assert caller.get("/webhooks").json == {"Webhooks": []}


def test_creating_one_posts_a_test_event_per_trigger(caller: Caller, receiver: Receiver) -> None:
    own = {
        "HttpAuth": {"Username": "pm", "Password": "s:cret"},
        "HttpHeaders": [{"Name": "X-Hook", "Value": "another"}],
    }
    created(caller, a_hook(receiver, *ALL, Verify=True, **own))
    assert records(receiver, 6) == list(ALL)
    for headers, _ in receiver.got:
        assert headers["authorization"] == f"Basic {b64encode(b'pm:s:cret').decode()}"
        assert headers["x-hook"] == "another"
    assert all(event["MessageStream"] == "broadcast" for _, event in receiver.got)
    assert all("x-pm-webhook-trace-id" in headers for headers, _ in receiver.got)


def test_unverified_webhook_gets_no_events(caller: Caller, receiver: Receiver) -> None:
    hook = created(caller, a_hook(receiver, "Delivery", "Bounce"))
    caller.send(a_message(1))
    assert caller.summary()["webhooks"]["idle"] is True
    receiver.statuses = [200, 500]
    verified = caller.call("POST", f"/webhooks/{hook['ID']}/verify").json
    assert verified["Success"] is False
    assert [(r["TriggerType"], r["Success"], r["StatusCode"]) for r in verified["Results"]] == [
        ("Delivery", True, 200),
        ("Bounce", False, 500),
    ]
    assert (verified["Id"], verified["Url"]) == (hook["ID"], hook["Url"])
    caller.send(a_message(2), a_message(3, To="softbounce@bounce.example"))
    assert [e["MessageID"] for e in receiver.events(3)][:2] == 2 * [
        "00000000-0000-0000-0000-000000000000"
    ]
    assert receiver.events(3)[2]["Recipient"] == "reader2@example.net"
    whole = caller.call("POST", f"/webhooks/{hook['ID']}/verify").json
    assert (whole["Success"], len(whole["Results"])) == (True, 2)
    shown = caller.get("/__sandbox__/webhooks").json["webhooks"]
    assert shown[0]["Verified"] == ["Bounce", "Delivery"]


def test_webhook_gets_only_its_stream_and_triggers(caller: Caller, receiver: Receiver) -> None:
    with Receiver() as other:
        created(caller, a_hook(receiver, "Bounce", Verify=True))
        created(caller, a_hook(other, MessageStream="outbound", Verify=True))
        caller.send(
            a_message(1, To="hardbounce@bounce.example"),
            a_message(2),
            a_message(3, MessageStream="outbound"),
        )
        assert records(receiver, 2) == ["Bounce", "Bounce"]
        assert other.events(2)[1]["Recipient"] == "reader3@example.net"
        assert caller.post("/__sandbox__/hurry", {}).json["webhooks"] == 0
        assert (len(receiver.got), len(other.got)) == (2, 2)


@pytest.mark.parametrize("wanted", [True, False])
def test_bounce_has_the_source_only_if_wanted(
    caller: Caller, receiver: Receiver, wanted: bool
) -> None:
    triggers = {"Bounce": {"Enabled": True, "IncludeContent": wanted}}
    created(caller, a_hook(receiver, Triggers=triggers, Verify=True))
    caller.send(a_message(1, To="hardbounce@bounce.example"))
    bounce = receiver.events(2)[1]
    assert ("Tide tables" in bounce.get("Content", "")) is wanted
    assert ("Content" in bounce) is wanted


@pytest.mark.parametrize("status", [302, 307])
def test_redirects_are_followed_with_the_event(
    caller: Caller, receiver: Receiver, status: int
) -> None:
    receiver.moves = {"/hooks/": (status, "/there?x=y"), "/there?x=y": (status, "/end/")}
    created(caller, a_hook(receiver, Verify=True))
    caller.send(a_message(1))
    assert receiver.events(2)[1]["Recipient"] == "reader1@example.net"
    assert receiver.got[1][0]["path"] == "/end/"


def test_credentials_do_not_follow_a_redirect_to_another_host(
    caller: Caller, receiver: Receiver
) -> None:
    with Receiver() as other:
        receiver.moves = {"/hooks/": (307, f"{other.base}/end/")}
        auth = {"Username": "pm", "Password": "x"}
        created(caller, a_hook(receiver, Verify=True, HttpAuth=auth))
        other.events(1)
        assert "authorization" not in other.got[0][0]


def test_failing_trigger_is_paused_until_it_is_verified(caller: Caller, receiver: Receiver) -> None:
    hook = created(caller, a_hook(receiver, "Delivery", "SubscriptionChange", Verify=True))
    receiver.statuses = [410] * 10
    caller.send(*messages(12))
    while not (shown := caller.get("/__sandbox__/webhooks").json)["idle"]:
        time.sleep(0.01)
    assert shown["webhooks"][0]["Verified"] == ["SubscriptionChange"]
    assert shown["lost"] == 10
    assert len(receiver.got) == 12
    caller.call("POST", f"/webhooks/{hook['ID']}/verify")
    caller.send(a_message(13))
    assert receiver.events(15)[14]["Recipient"] == "reader13@example.net"


def test_refused_edit_and_eleventh_webhook_change_nothing(
    caller: Caller, receiver: Receiver
) -> None:
    hook = created(caller, a_hook(receiver))
    receiver.statuses = [503]
    reply = put(caller, hook, b'{"HttpHeaders": [{"Name": "X-New", "Value": "1"}]}')
    assert reply.code == 1364
    assert caller.get(f"/webhooks/{hook['ID']}").json == hook
    for _ in range(9):
        created(caller, a_hook(receiver))
    reply = caller.post("/webhooks", a_hook(receiver, Verify=True))
    assert (reply.status, reply.code, len(receiver.got)) == (422, 1359, 1)
    body = a_hook(receiver)
    del body["MessageStream"]
    assert created(caller, body)["MessageStream"] == "outbound"


CANNOT_BE: list[tuple[dict[str, Any], int, str]] = [
    ({"Url": "ftp://x"}, 1354, "'Url' is not valid."),
    ({"Url": "http://[bad/"}, 1354, "'Url' is not valid."),
    ({"Url": "http://127.0.0.1/\r\nX: y"}, 1354, "'Url' is not valid."),
    ({"Url": None}, 1354, "'Url' is not valid."),
    ({"HttpAuth": {"Username": "a"}}, 1361, "'HttpAuth' must hold"),
    ({"HttpAuth": {"Username": "a:b", "Password": "c"}}, 1361, "Basic auth cannot carry"),
    ({"HttpHeaders": {"X": "y"}}, 1358, "'HttpHeaders' must be a list"),
    ({"HttpHeaders": [{"Name": "X: y", "Value": "z"}]}, 1358, "'HttpHeaders' must be a list"),
    ({"HttpHeaders": [{"Name": "X", "Value": "z\r\nY: 1"}]}, 1358, "'HttpHeaders' must be a list"),
    ({"Triggers": []}, 1361, "'Triggers' must be an object"),
    ({"Triggers": {"Whim": {"Enabled": True}}}, 1361, "The trigger 'Whim' is not valid."),
    ({"Triggers": {"Bounce": {"Enabled": "yes"}}}, 1361, "The trigger 'Bounce' is not valid."),
    ({"MessageStream": "nowhere"}, 1226, "was not found"),
]


def test_invalid_webhook_is_refused_with_one_sentence(caller: Caller, receiver: Receiver) -> None:
    for change, code, sentence in CANNOT_BE:
        reply = caller.post("/webhooks", a_hook(receiver) | change)
        assert (reply.status, reply.code) == (422, code)
        assert sentence in reply.message
    assert caller.get("/webhooks").json == {"Webhooks": []}
    hook = created(caller, a_hook(receiver))
    moved = put(caller, hook, b'{"MessageStream": "outbound", "Verify": false}')
    assert (moved.code, "cannot be changed" in moved.message) == (1357, True)
    for method in ("GET", "PUT", "DELETE"):
        missing = caller.call(method, "/webhooks/5", b"{}")
        assert missing.status == 422
        # The tests of Postmark's PHP client contain this text of Postmark.
        assert missing.json == {
            "ErrorCode": 1352,
            "Message": "The webhook for the provided 'ID' was not found.",
        }
    assert caller.get("/webhooks", MessageStream="nowhere").code == 1226
    caller.post("/__sandbox__/reset", {})
    assert caller.get("/webhooks").json == {"Webhooks": []}


@pytest.mark.parametrize(
    ("statuses", "move", "text"),
    [
        ([200, 204], None, "'Bounce' was not taken. It answered 204; expected 200."),
        ([200, 500], None, "'Bounce' was not taken. It answered 500; expected 200."),
        ([404], (308, "{base}/there/"), "It answered 404; expected 200."),
        # The server at this address does not speak https. The error must hide the password.
        ([], (301, "https://pm:s3cret@{host}/"), "It gave no answer: HTTPSConnectionPool("),
    ],
)
def test_nothing_is_saved_unless_the_test_event_gets_200(
    caller: Caller, receiver: Receiver, statuses: list[int], move: tuple[int, str] | None, text: str
) -> None:
    there = {"base": receiver.base, "host": receiver.base.removeprefix("http://")}
    receiver.statuses = statuses
    if move:
        receiver.moves = {"/hooks/": (move[0], move[1].format(**there))}
    body = a_hook(receiver, "Delivery", "Bounce")
    del body["Verify"]
    reply = caller.post("/webhooks", body)
    assert (reply.status, reply.code) == (422, 1364)
    assert text in reply.message
    assert "s3cret" not in reply.message
    assert caller.get("/webhooks").json == {"Webhooks": []}
