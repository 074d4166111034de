"""Requests that Postmark refuses, with their codes and sentences."""

import json
from typing import Any

import pytest

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import LEFT_OUT, Caller, a_message, messages

SENDER = "The 'From' address you supplied (letter@example.org) is not a Sender Signature"


def test_a_call_without_a_token_is_401_with_code_10(caller: Caller) -> None:
    for path in ("/email", "/email/batch", "/messages/outbound", "/bounces", "/webhooks"):
        for token in (None, ""):
            method = "POST" if path.startswith("/email") else "GET"
            reply = caller.call(method, path, b"{}", {"X-Postmark-Server-Token": token})
            assert (reply.status, reply.code) == (401, 10)
            assert reply.message == "Request does not contain a valid Server token."
            assert reply.headers["x-pm-apierrorcode"] == "10"
    unknown, wrong_method = caller.post("/emails/none", {}), caller.get("/email/batch")
    assert (unknown.status, wrong_method.status) == (404, 405)


@pytest.mark.parametrize(
    "path", ["/deliverystats/", "/deliveryStats", "/Message-Streams/broadcast/"]
)
def test_case_and_last_slash_of_a_path_do_not_matter(caller: Caller, path: str) -> None:
    plain = caller.get(path.lower().rstrip("/"))
    assert (caller.get(path).status, caller.get(path).body) == (200, plain.body)
    caller.fault("maintenance_503", path=path.lower().rstrip("/"))
    assert caller.get(path).status == 503


@pytest.mark.parametrize("end", ["/delete", "/Delete", "/delete/"])
def test_case_and_last_slash_of_a_path_keep_its_action(caller: Caller, end: str) -> None:
    path, entry = "/message-streams/broadcast/suppressions", {"EmailAddress": "a@example.net"}
    caller.post(path, {"Suppressions": [entry]})
    (change,) = caller.post(path + end, {"Suppressions": [entry]}).json["Suppressions"]
    assert change["Status"] == "Deleted"


def test_only_named_tokens_are_accepted() -> None:
    with SandboxServer(tokens=["the right one"]) as server:
        caller = Caller(server.url)
        wrong = caller.post("/email", a_message(), **{"X-Postmark-Server-Token": "another"})
        right = caller.post("/email", a_message(), **{"X-Postmark-Server-Token": "the right one"})
    assert (wrong.status, right.status) == (401, 200)


def test_without_the_json_headers_it_is_415(caller: Caller) -> None:
    for name, value in (("Accept", "text/html"), ("Content-Type", "text/x")):
        for wrong in (None, value):
            reply = caller.post("/email", a_message(), **{name: wrong})
            assert (reply.status, reply.code) == (415, 409)
    json_too = {"Content-Type": "application/json; charset=utf-8"}
    assert caller.post("/email", a_message(), **json_too).status == 200


def test_a_body_that_is_not_json_is_402(caller: Caller) -> None:
    for path in ("/email", "/email/batch"):
        for body in (b"", b"{", b"[{]", b"\xff\xfe", b'{"From": NaN}'):
            reply = caller.call("POST", path, body)
            assert (reply.status, reply.code) == (422, 402)
    assert caller.post("/email", [a_message()]).code == 402
    assert caller.post("/email/batch", a_message()).code == 402
    reply = caller.post("/email/batch", ["message", None, a_message(3)])
    assert [result["ErrorCode"] for result in reply.json] == [403, 403, 0]


def test_batch_of_501_is_refused_with_410(caller: Caller) -> None:
    reply = caller.post("/email/batch", messages(501))
    assert (reply.status, reply.code) == (422, 410)
    assert reply.message == ("You may only send up to 500 messages in a single batched request.")
    assert caller.summary()["accepted"] == 0


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"TemplateModel": {}}, 403, "Invalid request field(s): 'TemplateModel'."),
    ({"From": 5}, 403, "Invalid request field(s): 'From'."),
    ({"TrackLinks": "Some"}, 403, "Invalid request field(s): 'TrackLinks'."),
    ({"Metadata": []}, 403, "Invalid request field(s): 'Metadata'."),
    ({"Metadata": {"a": {"b": "c"}}}, 403, "Invalid request field(s): 'Metadata.a'."),
    ({"Tag": 1, "Subject": 2}, 403, "Invalid request field(s): 'Subject', 'Tag'."),
    (
        {"MessageStream": "letters"},
        1235,
        "The stream provided: 'letters' does not exist on this server.",
    ),
    ({"MessageStream": "inbound"}, 1236, "does not support sending"),
    ({"From": LEFT_OUT}, 300, "Invalid 'From' address: ''."),
    ({"From": "letter"}, 300, "Error parsing 'From': Illegal email address 'letter'."),
    ({"From": "a.@example.org"}, 300, "Invalid 'From' address: 'a.@example.org'."),
    ({"From": "Ada, Jr. <a@example.org>"}, 300, "Invalid 'From' address"),
    ({"ReplyTo": "ada"}, 300, "Error parsing 'Reply-To': Illegal email address 'ada'."),
    ({"To": LEFT_OUT}, 300, "Zero recipients specified"),
    ({"To": " , "}, 300, "Zero recipients specified"),
    ({"To": "c@@example.net"}, 300, "Invalid 'To' address: 'c@@example.net'."),
    ({"To": "a..b@example.net"}, 300, "Invalid 'To' address: 'a..b@example.net'."),
    ({"To": "ü@example.net"}, 300, "Invalid 'To' address: 'ü@example.net'."),
    ({"To": "Reader, Jr. <r@example.net>"}, 300, "Illegal email address 'Reader'"),
    ({"To": "a@example.net\nBcc: b@example.net"}, 300, "Invalid 'To' address"),
    ({"Cc": "nobody"}, 300, "Error parsing 'Cc': Illegal email address 'nobody'."),
    (
        {"To": "a@exa_mple.com"},
        300,
        "Error parsing 'To': Illegal email domain 'exa_mple.com' in address 'a@exa_mple.com'.",
    ),
    (
        {"To": "reader"},
        300,
        "Error parsing 'To': Illegal email address 'reader'. It must contain the '@' symbol.",
    ),
    ({"Cc": ",".join(f"c{n}@example.net" for n in range(50))}, 300, "limited to 50"),
    ({"HtmlBody": "", "TextBody": None}, 300, "Provide either email TextBody or HtmlBody"),
    ({"Subject": "s" * 2001}, 300, "'Subject' is limited to 2000"),
    ({"Subject": "a\r\nBcc: b@example.net"}, 300, "control characters"),
    ({"Tag": "t" * 1001}, 300, "'Tag' is limited to 1000"),
    (
        {"Metadata": {"newsletter_delivery_id": "1"}},
        300,
        "Invalid metadata content. Field names are limited to 20 characters.",
    ),
    ({"Metadata": {"a": "v" * 81}}, 300, "Field values are limited to 80 characters"),
    ({"Metadata": {str(n): "v" for n in range(11)}}, 300, "limited to 10 pairs"),
    ({"Metadata": {"a": "1", "A": "2"}}, 300, "must differ by more than case"),
    ({"Headers": [{"Name": "X-A", "Value": 5}]}, 403, "Invalid request field(s): 'Headers'."),
    ({"Headers": [{"Name": "X-A", "Value": "a\r\nX-B: c"}]}, 300, "control characters"),
    (
        {"Attachments": [{"Name": "a.EXE", "Content": "", "ContentType": "x/y"}]},
        411,
        "'.exe' is not allowed",
    ),
    ({"Attachments": [{"Name": "a.pdf"}]}, 403, "Invalid request field(s): 'Attachments'."),
]


def test_refusal_is_the_same_alone_and_in_a_batch(caller: Caller) -> None:
    for number, (changes, code, sentence) in enumerate(REFUSED, 1):
        message = a_message(**changes)
        alone = caller.post("/email", message)
        assert (alone.status, alone.code) == (422, code), changes
        assert sentence in alone.message
        assert alone.headers["x-pm-apierrorcode"] == str(code)
        in_batch, neighbour = caller.send(message, a_message(2))
        assert neighbour["ErrorCode"] == 0
        assert in_batch == {"ErrorCode": code, "Message": alone.message}
        assert caller.summary()["accepted"] == number


WITHIN_LIMITS: list[dict[str, Any]] = [
    {"To": '"Reader, Jr." <r@example.net>'},
    {"To": "Ada's Friend <r@example.net>"},
    {"To": "a@example.net, B <b@example.net>", "Cc": "c@example.net"},
    {"To": LEFT_OUT, "Bcc": "only@example.net"},
    {"To": "it's.o'clock+tag@xn--exmple-cua.com"},
    {"Subject": "s" * 2000, "Tag": "t" * 1000},
    {"Metadata": {"k" * 20: "v" * 80}},
    {"Metadata": {"number": 5, "truth": True, "nothing": None}},
    {"HtmlBody": None},
    {"TextBody": LEFT_OUT, "Tag": None, "Metadata": None, "Headers": None},
    {"TrackOpens": False, "TrackLinks": "HtmlAndText", "ReplyTo": "a@example.org"},
    {"Attachments": [{"Name": "a.pdf", "Content": "", "ContentType": "x/y"}]},
    {"MessageStream": LEFT_OUT},
]


def test_messages_within_the_limits_are_accepted(caller: Caller) -> None:
    for changes in WITHIN_LIMITS:
        reply = caller.post("/email", a_message(**changes))
        assert (reply.status, reply.code, reply.message) == (200, 0, "OK"), changes


def test_unverified_sender_is_400() -> None:
    with SandboxServer(verified=["almanack.example", "one@elsewhere.example"]) as server:
        caller = Caller(server.url)
        refused = caller.post("/email", a_message())
        by_domain = caller.post("/email", a_message(From="X <letter@Almanack.example>"))
        by_address = caller.post("/email", a_message(From="one@elsewhere.example"))
    assert (refused.status, refused.code) == (422, 400)
    assert refused.message.startswith(SENDER)
    assert (by_domain.status, by_address.status) == (200, 200)


@pytest.mark.parametrize(
    ("state", "code", "sentence"),
    [
        ("no_credits", 405, "credits"),
        ("pending", 412, "While your account is pending approval, all recipient addresses must"),
        ("not_approved", 413, "This account is not approved to send email."),
    ],
)
def test_an_account_that_may_not_send_says_so(
    caller: Caller, state: str, code: int, sentence: str
) -> None:
    caller.post("/__sandbox__/account", {"state": state})
    reply = caller.post("/email", a_message())
    assert (reply.status, reply.code) == (422, code)
    assert sentence in reply.message
    assert caller.send(a_message())[0]["ErrorCode"] == code
    same_domain = caller.post("/email", a_message(To="me@example.org")).status
    assert same_domain == (200 if state == "pending" else 422)
    caller.post("/__sandbox__/account", {"state": "active", "verified": ["Almanack.example"]})
    assert caller.post("/email", a_message()).code == 400


def test_a_suppressed_recipient_is_406_on_that_stream_only(caller: Caller) -> None:
    caller.post("/__sandbox__/suppressions", {"addresses": ["Reader1@example.net"]})
    alone = caller.post("/email", a_message(1, To="READER1@example.net"))
    assert (alone.status, alone.code) == (422, 406)
    assert "Found inactive addresses: reader1@example.net." in alone.message
    in_batch = caller.send(a_message(1))[0]
    assert in_batch["ErrorCode"] == 406
    assert "Found inactive addresses: reader1@example.net." in in_batch["Message"]
    assert caller.post("/email", a_message(1, MessageStream="outbound")).status == 200


def test_suppressed_recipients_are_left_out_and_named(caller: Caller) -> None:
    caller.post("/__sandbox__/suppressions", {"addresses": ["b@example.net"]})
    reply = caller.post("/email", a_message(To="a@example.net, b@example.net"))
    assert reply.json["ErrorCode"] == 0
    assert "will not deliver to these inactive addresses: b@example.net." in reply.message
    assert caller.search()["Messages"][0]["Recipients"] == ["a@example.net"]


def test_single_request_above_10_mb_is_413_without_json(caller: Caller) -> None:
    reply = caller.post("/email", a_message(HtmlBody="x" * (10 * 1024 * 1024)))
    assert reply.status == 413
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.body)
    large = caller.post("/email", a_message(HtmlBody="x" * (10 * 1024 * 1024), Extra=1))
    assert (large.status, large.code) == (422, 403)


def test_first_fault_in_the_order_of_checks_is_reported(caller: Caller) -> None:
    right = a_message()
    wrong = a_message(From="nobody", To="reader", MessageStream="x", HtmlBody="", TextBody="", A=1)
    for field, sentence in (
        ("A", "Invalid request field(s)"),
        ("MessageStream", "The stream provided"),
        ("From", "Error parsing 'From'"),
        ("To", "Error parsing 'To'"),
        ("TextBody", "Provide either email TextBody or HtmlBody or both."),
    ):
        assert caller.post("/email", wrong).message.startswith(sentence)
        del wrong[field]
        wrong |= {name: right[name] for name in right if name == field}
    assert caller.post("/email", wrong).status == 200


def test_a_batch_above_50_mb_is_413(caller: Caller) -> None:
    body = json.dumps([a_message(n, HtmlBody="x" * 5_000_000) for n in range(11)]).encode()
    assert caller.call("POST", "/email/batch", body).status == 413
    assert caller.summary()["accepted"] == 0


def test_part_above_5_mb_is_refused_alone(caller: Caller) -> None:
    large = a_message(1, HtmlBody="x" * (5 * 1024 * 1024 + 1))
    refused, accepted = caller.send(large, a_message(2))
    assert (refused["ErrorCode"], accepted["ErrorCode"]) == (300, 0)
    assert "HtmlBody" in refused["Message"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "/email/withTemplate", 1101),
        ("POST", "/email/batchWithTemplates", 1101),
        ("POST", "/email/bulk", 14),
        ("GET", "/message-streams/letters", 1226),
        ("GET", "/message-streams/letters/suppressions/dump", 1226),
        ("GET", "/messages/outbound/5/details", 701),
        ("GET", "/messages/outbound/00000000-0000-4000-8000-000000000000/dump", 701),
        ("GET", "/bounces/5", 1001),
    ],
)
def test_unknown_resources_are_422_with_their_code(
    caller: Caller, method: str, path: str, code: int
) -> None:
    reply = caller.call(method, path, b"{}" if method == "POST" else None)
    assert (reply.status, reply.code) == (422, code)
