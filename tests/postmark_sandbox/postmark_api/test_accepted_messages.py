"""Replies to accepted messages, and their stored copies."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email import message_from_string, policy
from uuid import UUID

import pytest

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import ATTEMPT, ISSUE, Caller, a_message

SEVEN_DIGITS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}(Z|-0[45]:00)")


def test_accepted_message_gets_an_id_and_a_time(caller: Caller) -> None:
    reply = caller.post("/email", a_message(To="Ada <ada@example.net>"))
    result = reply.json
    assert reply.status == 200
    assert list(result) == ["To", "SubmittedAt", "MessageID", "ErrorCode", "Message"]
    assert (result["To"], result["ErrorCode"], result["Message"]) == (
        "Ada <ada@example.net>",
        0,
        "OK",
    )
    assert str(UUID(result["MessageID"])) == result["MessageID"]
    assert SEVEN_DIGITS.fullmatch(result["SubmittedAt"])
    age = datetime.now(UTC) - datetime.fromisoformat(result["SubmittedAt"])
    assert abs(age.total_seconds()) < 60


def test_batch_results_are_in_order(caller: Caller) -> None:
    results = caller.send(
        a_message(1), a_message(2, To="nobody"), a_message(3, MessageStream="x"), a_message(4)
    )
    assert [r["ErrorCode"] for r in results] == [0, 300, 1235, 0]
    assert [r.get("To") for r in results] == [
        "reader1@example.net",
        None,
        None,
        "reader4@example.net",
    ]
    found = caller.search()
    assert found["TotalCount"] == 2
    by_id = {m["MessageID"]: m["Recipients"] for m in found["Messages"]}
    assert by_id[results[0]["MessageID"]] == ["reader1@example.net"]
    assert by_id[results[3]["MessageID"]] == ["reader4@example.net"]


def test_the_same_message_twice_is_two_messages(caller: Caller) -> None:
    first, second = caller.send(a_message(1), a_message(1))
    third = caller.post("/email", a_message(1)).json
    assert len({r["MessageID"] for r in (first, second, third)}) == 3
    assert caller.get("/__sandbox__/copies").json["copies"] == {f"{ISSUE}.1.1": 3}


def test_the_test_token_validates_and_stores_nothing(caller: Caller) -> None:
    token = {"X-Postmark-Server-Token": "POSTMARK_API_TEST"}
    accepted = caller.post("/email", a_message(), **token)
    refused = caller.post("/email", a_message(To="nobody"), **token)
    mixed = caller.post("/email/batch", [a_message(), a_message(To="nobody")], **token)
    assert (accepted.json["ErrorCode"], accepted.message) == (0, "Test job accepted")
    assert len(accepted.json["MessageID"]) == 36
    assert (refused.status, refused.code) == (422, 300)
    assert [result["ErrorCode"] for result in mixed.json] == [0, 300]
    assert caller.summary()["accepted"] == 0


def test_every_message_that_was_accepted_is_kept(server: SandboxServer) -> None:
    def send(part: int) -> None:
        caller = Caller(server.url)
        for begin in range(part * 500, part * 500 + 495, 99):
            caller.send(*(a_message(n, HtmlBody="x" * 2000) for n in range(begin, begin + 99)))
        for number in range(part * 500 + 495, part * 500 + 500):
            caller.post("/email", a_message(number))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(send, range(4)))

    outbox = server.sandbox.outbox
    assert server.sandbox.summary()["accepted"] == 2_000
    recipients = [outbox.message(number).item["To"] for number in range(2_000)]
    assert sorted(recipients) == sorted(f"reader{n}@example.net" for n in range(2_000))
    ids = {outbox.id_of(number) for number in range(2_000)}
    assert len(ids) == 2_000
    assert all(outbox.number_of(outbox.id_of(number)) == number for number in range(2_000))
    assert outbox.copies(lambda size: size != 1) == {}
    assert len(outbox.copies(lambda size: size == 1)) == 2_000


def test_details_show_the_whole_message(caller: Caller) -> None:
    message = a_message(
        1,
        To='"Reader, Jr." <reader1@example.net>',
        Metadata={"attempt": ATTEMPT, "number": 5},
        ReplyTo="ada@example.org",
        TextBody="Grüße",
    )
    message_id = caller.post("/email", message).json["MessageID"]
    details = caller.get(f"/messages/outbound/{message_id}/details").json
    assert details["MessageID"] == message_id
    assert details["To"] == [{"Email": "reader1@example.net", "Name": "Reader, Jr."}]
    assert details["Metadata"] == {"attempt": ATTEMPT, "number": "5"}
    assert (details["TextBody"], details["HtmlBody"]) == ("Grüße", message["HtmlBody"])
    assert (details["Status"], details["MessageStream"]) == ("Sent", "broadcast")
    assert SEVEN_DIGITS.fullmatch(details["ReceivedAt"])
    assert [event["Type"] for event in details["MessageEvents"]] == ["Delivered"]
    raw = caller.get(f"/messages/outbound/{message_id}/dump").json["Body"]
    for line in (
        'To: "Reader, Jr." <reader1@example.net>',
        "Reply-To: ada@example.org",
        "Message-ID: <1.1@example.org>",
        "Subject: Tide tables",
    ):
        assert f"{line}\r\n" in raw
    assert raw == details["Body"]


@pytest.mark.parametrize("name", ["Message-ID", "Resent-To", "Date", "X-É", "Content-Type"])
def test_unusual_headers_are_shown(caller: Caller, name: str) -> None:
    for value in ("<", "<a@", "", "é", "=?utf-8?q?x", "x" * 2000):
        sent = caller.send(a_message(1, Headers=[{"Name": name, "Value": value}]))
        assert caller.get(f"/messages/outbound/{sent[0]['MessageID']}/details").status == 200
        for part in ("headers", "source"):
            assert caller.get("/", part=part).status == 200


def test_source_can_be_parsed_as_mail(caller: Caller) -> None:
    message = a_message(
        1,
        From='"Märlow, E." <letter@example.org>',
        Subject="Gezeiten für März",
        TextBody="Grüße\n" + "x" * 1200,
        HtmlBody="<p>Grüße</p>",
        Attachments=[{"Name": "a.pdf", "Content": "", "ContentType": "application/pdf"}],
    )
    message_id = caller.post("/email", message).json["MessageID"]
    raw = caller.get(f"/messages/outbound/{message_id}/dump").json["Body"]
    mail = message_from_string(raw, policy=policy.default)
    assert mail["Subject"] == "Gezeiten für März"
    assert mail["From"] == '"Märlow, E." <letter@example.org>'
    text, html = mail.get_body(["plain"]), mail.get_body(["html"])
    assert text is not None
    assert html is not None
    assert text.get_content().split() == ["Grüße", "x" * 1200]
    assert html.get_content().strip() == "<p>Grüße</p>"
    assert [part.get_filename() for part in mail.iter_attachments()] == ["a.pdf"]
