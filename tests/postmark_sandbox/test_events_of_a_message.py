"""The part “Events” of a message: what happened to it, and what one lets happen there."""

import re

import pytest

from postmark_sandbox.one_click import MULTIPART, URLENCODED
from tests.postmark_sandbox.caller import Caller, Reply, a_message
from tests.postmark_sandbox.receiver import Receiver
from tests.postmark_sandbox.test_inbox import read


def shown(caller: Caller, message: str) -> Reply:
    """The page with this part; well formed and without scripts."""
    reply = caller.get("/", message=message, part="events")
    read(reply)
    return reply


def log(caller: Caller, message: str) -> list[str]:
    """The words of the log, line by line."""
    lines = re.findall(r"<li>(<span class=\"quiet\">.*?)</li>", shown(caller, message).text, re.S)
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", line)).strip() for line in lines]


def let(caller: Caller, message: str, event: str, address: str = "reader1@example.net") -> Reply:
    """Presses one of the buttons."""
    reply = caller.form(f"/message/{message}/events", event=event, address=address)
    assert reply.headers.get("location") == f"/?message={message}&part=events", reply.text
    return reply


@pytest.fixture
def message(caller: Caller) -> str:
    """The MessageID of a letter that arrived."""
    return str(caller.send(a_message(1))[0]["MessageID"])


def test_the_log_begins_with_what_became_of_it_by_itself(caller: Caller, message: str) -> None:
    bounced = caller.send(a_message(2, To="hardbounce@bounce.example"))[0]["MessageID"]
    assert [re.sub(r"^.*?\d\d:\d\d:\d\d ", "", line) for line in log(caller, message)] == [
        "Accepted for broadcast",
        "Delivered reader1@example.net",
    ]
    assert [re.sub(r"^.*?\d\d:\d\d:\d\d ", "", line) for line in log(caller, bounced)] == [
        "Accepted for broadcast",
        "Hard bounce hardbounce@bounce.example",
    ]


@pytest.mark.parametrize(
    ("button", "word", "told", "reason"),
    [
        ("delivered", "Delivered again", ["Delivery"], None),
        ("hard_bounce", "Hard bounce", ["Bounce", "SubscriptionChange"], "HardBounce"),
        ("soft_bounce", "Soft bounce", ["Bounce"], None),
        ("complaint", "Spam complaint", ["SpamComplaint", "SubscriptionChange"], "SpamComplaint"),
        ("unsubscribe", "Unsubscribed", ["SubscriptionChange"], "ManualSuppression"),
    ],
)
def test_a_button_lets_it_happen_tells_the_webhooks_and_is_in_the_log(
    caller: Caller,
    receiver: Receiver,
    message: str,
    button: str,
    word: str,
    told: list[str],
    reason: str | None,
) -> None:
    caller.post("/__sandbox__/webhooks", {"url": receiver.url})
    let(caller, message, button)
    assert [event["RecordType"] for event in receiver.events(len(told))] == told
    assert "Delivered reader1@example.net" in log(caller, message)[1]
    assert word in log(caller, message)[-1]
    dump = caller.get("/message-streams/broadcast/suppressions/dump").json["Suppressions"]
    assert [entry["SuppressionReason"] for entry in dump] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("button", "origin"), [("hard_bounce", "Customer"), ("unsubscribe", "Recipient")]
)
def test_who_is_suppressed_comes_back_and_the_webhook_says_by_whose_hand(
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


def test_who_complained_does_not_come_back(caller: Caller, message: str) -> None:
    let(caller, message, "complaint")
    assert 'value="reactivate"' not in shown(caller, message).text
    reply = caller.form(f"/message/{message}/events", event="reactivate")
    assert (reply.status, reply.text) == (
        400,
        "reader1@example.net complained: Postmark never lifts that.\n",
    )


def test_a_reader_who_is_not_suppressed_cannot_come_back(caller: Caller, message: str) -> None:
    reply = caller.form(f"/message/{message}/events", event="reactivate")
    assert (reply.status, reply.text) == (
        400,
        "reader1@example.net is not suppressed on the stream broadcast.\n",
    )


def test_of_several_recipients_one_is_chosen(caller: Caller) -> None:
    sent = a_message(1, Cc="copy@example.net")
    message = caller.send(sent)[0]["MessageID"]
    assert "<option>copy@example.net</option>" in shown(caller, message).text
    let(caller, message, "hard_bounce", "copy@example.net")
    assert log(caller, message)[-1].endswith("Hard bounce copy@example.net")
    assert [line.split()[-1] for line in log(caller, message)[:2]] == [
        "broadcast",
        "reader1@example.net",
    ]


def test_what_the_list_says_is_the_last_thing_that_changed_something(
    caller: Caller, message: str
) -> None:
    let(caller, message, "hard_bounce")
    let(caller, message, "delivered")
    row = re.search(r'<ul class="rows">.*?</ul>', caller.get("/").text, re.DOTALL)
    assert row is not None
    assert "Hard bounce" in row.group()


@pytest.mark.parametrize(
    "fields", [{"event": "fire"}, {}, {"event": "complaint", "address": "other@example.net"}]
)
def test_a_form_with_something_else_in_it_changes_nothing(
    caller: Caller, message: str, fields: dict[str, str]
) -> None:
    assert caller.form(f"/message/{message}/events", **fields).status == 400
    assert len(log(caller, message)) == 2


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
@pytest.mark.parametrize(
    ("what", "body"), [("events", b"event=complaint"), ("one-click", b"encoding=" + b"x")]
)
def test_a_button_on_another_site_changes_nothing(
    caller: Caller, message: str, origin: str, what: str, body: bytes
) -> None:
    reply = caller.call("POST", f"/message/{message}/{what}", body, {"Origin": origin})
    assert reply.status == 403
    assert len(log(caller, message)) == 2


@pytest.mark.parametrize("what", ["events", "one-click"])
def test_a_message_that_is_not_there_is_said_to_be_missing(caller: Caller, what: str) -> None:
    gone = "00000000-0000-4000-8000-000000000000"
    assert caller.form(f"/message/{gone}/{what}", event="complaint").status == 404


def test_a_transactional_mail_without_the_headers_is_no_fault(caller: Caller) -> None:
    message = str(caller.send(a_message(1, MessageStream="outbound"))[0]["MessageID"])
    page = shown(caller, message).text
    assert "No button, and none is wanted" in page
    assert "not valid" not in page


def test_the_page_says_whether_the_headers_are_valid(caller: Caller, message: str) -> None:
    page = shown(caller, message).text
    assert "The headers are not valid (RFC 8058)" in page
    assert "There is no List-Unsubscribe header; expected exactly one." in page
    assert f"/message/{message}/one-click" not in page
    caller.form(f"/message/{message}/one-click", encoding=MULTIPART)
    assert "Nothing was posted: a mailbox provider would show no button" in log(caller, message)[-1]


@pytest.mark.parametrize("encoding", [MULTIPART, URLENCODED])
def test_unsubscribing_as_a_mailbox_provider_shows_what_came_back(
    caller: Caller, receiver: Receiver, encoding: str
) -> None:
    headers = [
        {"Name": "List-Unsubscribe", "Value": f"<{receiver.base}/u/>"},
        {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"},
    ]
    message = caller.send(a_message(1, Headers=headers))[0]["MessageID"]
    assert "The headers are valid" in shown(caller, message).text
    reply = caller.form(f"/message/{message}/one-click", encoding=encoding)
    assert reply.status == 303
    assert receiver.got[0][0]["content-type"].startswith(encoding)
    assert log(caller, message)[-1].endswith(f"One-click, {encoding} Answered 200: it works.")
    assert "one-click, tried: Answered 200: it works." in caller.get("/").text
    assert "</svg>Delivered</span>" in caller.get("/").text
