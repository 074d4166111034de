"""Leaving as a mailbox provider does: which headers are valid, and what is posted where."""

import pytest

from postmark_sandbox.events.one_click import (
    BOUNDARY,
    MULTIPART,
    URLENCODED,
    read_link,
)
from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, Reply, a_message
from tests.postmark_sandbox.webhook_receiver import Receiver

POST = ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
LINK = ("List-Unsubscribe", "<https://example.org/u/k3Jd/>")


def accepted(caller: Caller, *headers: tuple[str, str]) -> str:
    own = [{"Name": name, "Value": value} for name, value in headers]
    return str(caller.send(a_message(Headers=own))[0]["MessageID"])


def left(caller: Caller, message: str, encoding: str = MULTIPART) -> Reply:
    """The answer to the control call that presses the button."""
    return caller.post("/__sandbox__/one-click", {"message": message, "encoding": encoding})


def test_one_of_each_header_with_one_address_is_valid() -> None:
    for headers in (
        [LINK, POST],
        [POST, ("list-unsubscribe", "<mailto:a@example.org?subject=x>, <https://example.org/>")],
        [("List-Unsubscribe", "<https://example.org/u/> (in the browser), <mailto:a@b.c>"), POST],
        [("List-Unsubscribe", "<http://127.0.0.1:8000/u/>"), POST],
        [("List-Unsubscribe", "<http://localhost/u/>"), POST],
        [("List-Unsubscribe", "<http://[::1]:8000/u/>"), POST],
    ):
        assert read_link(headers).problems == [], headers


AGAINST_THE_RULE = [
    ([POST], "There is no List-Unsubscribe header; expected exactly one."),
    ([LINK], "There is no List-Unsubscribe-Post header; expected exactly one."),
    ([LINK, LINK, POST], "There are 2 List-Unsubscribe headers; expected exactly one."),
    ([LINK, POST, POST], "There are 2 List-Unsubscribe-Post headers; expected exactly one."),
    ([LINK, (POST[0], "List-Unsubscribe=one-click")], "expected exactly “List-Unsubscribe=One"),
    ([LINK, (POST[0], "")], "List-Unsubscribe-Post is “”"),
    ([("List-Unsubscribe", "https://example.org/"), POST], "in angle brackets"),
    ([("List-Unsubscribe", "<mailto:a@example.org>"), POST], "has no web address"),
    (
        [("List-Unsubscribe", "<https://a.example/>, <https://b.example/>"), POST],
        "has 2 web addresses; expected exactly one",
    ),
    ([("List-Unsubscribe", "<http://example.org/u/>"), POST], "begins http:; expected https:"),
    ([("List-Unsubscribe", "<https:///u/>"), POST], "cannot be read"),
    ([("List-Unsubscribe", "<https://[bad/u/>"), POST], "cannot be read"),
    ([("List-Unsubscribe", "<https://example.org:x/>"), POST], "cannot be read"),
    ([("List-Unsubscribe", "<https://example.org/u /1>"), POST], "cannot be read"),
    ([("List-Unsubscribe", "<https://me:pw@example.org/>"), POST], "holds a user name"),
]


def test_problems_with_the_headers_are_named() -> None:
    for headers, problem in AGAINST_THE_RULE:
        problems = read_link(headers).problems
        assert any(problem in found for found in problems), problems


@pytest.mark.parametrize(
    ("encoding", "content_type", "body"),
    [
        (URLENCODED, URLENCODED, b"List-Unsubscribe=One-Click"),
        (
            MULTIPART,
            f"{MULTIPART}; boundary={BOUNDARY}",
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\n'
            f"One-Click\r\n--{BOUNDARY}--\r\n".encode(),
        ),
    ],
)
def test_the_post_carries_the_one_value_and_nothing_else(
    caller: Caller, receiver: Receiver, encoding: str, content_type: str, body: bytes
) -> None:
    link = ("List-Unsubscribe", f"<{receiver.base}/u/k3Jd/?a=b>")
    reply = left(caller, accepted(caller, link, POST), encoding)
    assert reply.json == {"status": 200, "valid": True, "problems": []}
    headers, _ = receiver.got[0]
    assert receiver.bodies == [body]
    assert (headers["path"], headers["content-type"]) == ("/u/k3Jd/?a=b", content_type)
    assert headers.keys().isdisjoint({"cookie", "authorization", "origin", "referer"})


def test_redirect_is_reported_and_not_followed(caller: Caller, receiver: Receiver) -> None:
    receiver.moves = {"/u/1": (301, "/u/1/")}
    link = ("List-Unsubscribe", f"<{receiver.base}/u/1>")
    reply = left(caller, accepted(caller, link, POST)).json
    assert (reply["status"], reply["valid"]) == (301, True)
    assert "RFC 8058 forbids it" in reply["problems"][0]
    assert receiver.got == []
    receiver.moves, receiver.statuses = {}, [404]
    message = accepted(caller, link, POST)
    assert left(caller, message).json["problems"] == ["Answered 404; expected 200 or 202."]
    assert left(caller, message, "text/plain").status == 400


def test_nothing_is_posted_if_the_headers_are_invalid(caller: Caller, receiver: Receiver) -> None:
    reply = left(caller, accepted(caller, ("List-Unsubscribe", f"<{receiver.base}/u/>"))).json
    assert (reply["status"], reply["valid"]) == (None, False)
    assert reply["problems"][0].startswith("There is no List-Unsubscribe-Post header")
    assert receiver.got == []


def test_nothing_is_posted_to_another_machine(caller: Caller) -> None:
    reply = left(caller, accepted(caller, LINK, POST)).json
    assert (reply["status"], reply["valid"]) == (None, True)
    assert "leads to example.org" in reply["problems"][0]


def test_postmarks_own_link_takes_the_one_click_post() -> None:
    with SandboxServer(unsubscribe_handling="Postmark") as server:
        caller = Caller(server.url)
        message = accepted(caller)
        assert left(caller, message, URLENCODED).json["status"] == 200
        listed = caller.get("/message-streams/broadcast/suppressions/dump").json
        assert listed["Suppressions"][0]["Origin"] == "Recipient"
