"""The part “Events” of a message: its log and its buttons."""

import re

import pytest

from tests.postmark_sandbox.caller import Caller, Reply, a_message
from tests.postmark_sandbox.pages.test_inbox import check
from tests.postmark_sandbox.webhook_receiver import Receiver


def shown(caller: Caller, message: str) -> Reply:
    """Return the page of a message, after checking that the page is safe."""
    reply = caller.get("/", message=message, part="events")
    check(reply)
    return reply


def log(caller: Caller, message: str) -> list[str]:
    """Return the text of the log, line by line."""
    lines = re.findall(r"<li>(<span class=\"quiet\">.*?)</li>", shown(caller, message).text, re.S)
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", line)).strip() for line in lines]


def let(caller: Caller, message: str, event: str, address: str = "reader1@example.net") -> Reply:
    reply = caller.form(f"/message/{message}/events", event=event, address=address)
    assert reply.headers.get("location") == f"/?message={message}&part=events", reply.text
    return reply


@pytest.fixture
def message(caller: Caller) -> str:
    return str(caller.send(a_message(1))[0]["MessageID"])


@pytest.mark.parametrize(
    ("button", "word", "types", "reason"),
    [
        ("delivered", "Delivered again", ["Delivery"], None),
        ("hard_bounce", "Hard bounce", ["Bounce", "SubscriptionChange"], "HardBounce"),
        ("soft_bounce", "Soft bounce", ["Bounce"], None),
        ("complaint", "Spam complaint", ["SpamComplaint", "SubscriptionChange"], "SpamComplaint"),
        ("unsubscribe", "Unsubscribed", ["SubscriptionChange"], "ManualSuppression"),
    ],
)
def test_button_adds_an_event_and_posts_webhooks(
    caller: Caller,
    receiver: Receiver,
    message: str,
    button: str,
    word: str,
    types: list[str],
    reason: str | None,
) -> None:
    caller.post("/__sandbox__/webhooks", {"url": receiver.url})
    let(caller, message, button)
    assert [event["RecordType"] for event in receiver.events(len(types))] == types
    assert "Delivered reader1@example.net" in log(caller, message)[1]
    assert word in log(caller, message)[-1]
    dump = caller.get("/message-streams/broadcast/suppressions/dump").json["Suppressions"]
    assert [entry["SuppressionReason"] for entry in dump] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("button", "origin"), [("hard_bounce", "Customer"), ("unsubscribe", "Recipient")]
)
def test_reactivation_webhook_names_its_origin(
    caller: Caller, receiver: Receiver, message: str, button: str, origin: str
) -> None:
    assert 'value="reactivate"' not in shown(caller, message).text
    let(caller, message, button)
    assert 'value="reactivate"' in shown(caller, message).text
    caller.post("/__sandbox__/webhooks", {"url": receiver.url})
    let(caller, message, "reactivate")
    change = receiver.events(1)[0]
    assert (change["SuppressSending"], change["Origin"]) == (False, origin)
    assert "Reactivated" in log(caller, message)[-1]
    assert caller.get("/message-streams/broadcast/suppressions/dump").json["Suppressions"] == []


def test_complaint_cannot_be_reactivated(caller: Caller, message: str) -> None:
    let(caller, message, "complaint")
    assert 'value="reactivate"' not in shown(caller, message).text
    reply = caller.form(f"/message/{message}/events", event="reactivate")
    assert reply.status == 400
    assert "complained: Postmark never lifts that." in reply.text


def test_one_of_several_recipients_is_chosen(caller: Caller) -> None:
    sent = a_message(1, Cc="copy@example.net")
    message = caller.send(sent)[0]["MessageID"]
    assert ">copy@example.net</option>" in shown(caller, message).text
    let(caller, message, "hard_bounce", "copy@example.net")
    assert log(caller, message)[-1].endswith("Hard bounce copy@example.net")


def test_invalid_event_form_changes_nothing(caller: Caller, message: str) -> None:
    stranger = {"event": "complaint", "address": "other@example.net"}
    for fields in ({"event": "fire"}, {}, stranger, {"event": "reactivate"}):
        assert caller.form(f"/message/{message}/events", **fields).status == 400
    assert [line.split()[-1] for line in log(caller, message)] == [
        *("broadcast", "reader1@example.net")
    ]
    gone = "00000000-0000-4000-8000-000000000000"
    assert caller.form(f"/message/{gone}/events", event="complaint").status == 404
