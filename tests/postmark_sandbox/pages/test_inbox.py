"""The sandbox's pages: escaped, without scripts, safe from other sites."""

import re

import pytest

from tests.postmark_sandbox.caller import LEFT_OUT, Caller, Reply, a_message, messages
from tests.postmark_sandbox.webhook_receiver import Receiver

EVIL = "<script>alert(1)</script>\"'&"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;"
# The browser tests check that the pages are valid.
ACTIVE = re.compile(r"<(?:script|style)\b|<[^>]* (?:style|on\w+)=", re.IGNORECASE)


def check(reply: Reply) -> None:
    """Check that a page has no scripts or inline styles, and has its own policy."""
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self';")
    assert "unsafe" not in policy
    assert not ACTIVE.search(reply.text)
    assert reply.text.count("<h1") == 1


def test_empty_pages_and_their_files_are_served(caller: Caller) -> None:
    for path in ("/", "/faults", "/calls", "/empty"):
        reply = caller.get(path)
        assert reply.status == 200
        check(reply)
    assert "The inbox is empty." in caller.get("/").text
    for name in ("homing.css", "tokens.css", "sandbox.css", "favicon.svg"):
        assert caller.get(f"/static/{name}").body
    for path in ("/static/../routes.py", "/static/%2e%2e/routes.py", "/static/", "/nowhere"):
        assert caller.get(path).status == 404


def test_messages_are_listed_newest_first_and_the_newest_is_shown(caller: Caller) -> None:
    results = caller.send(*messages(3))
    reply = caller.get("/")
    check(reply)
    addresses = re.findall(r"<b>(reader\d@<wbr>example.net)</b>", reply.text)
    assert addresses == [f"reader{n}@<wbr>example.net" for n in (3, 2, 1)]
    assert f'src="/message/{results[2]["MessageID"]}/html"' in reply.text
    assert '<iframe title="The message as HTML"' in reply.text
    assert "1 to 3 of 3" in reply.text


def test_the_list_is_paged(caller: Caller) -> None:
    caller.send(*messages(45))
    first, second, third = (caller.get("/", page=n) for n in (1, 2, 3))
    assert "1 to 20 of 45" in first.text
    assert "21 to 40 of 45" in second.text
    assert "41 to 45 of 45" in third.text
    assert 'rel="next"' in first.text
    assert 'rel="prev"' not in first.text
    assert 'rel="next"' not in third.text
    assert "<b>reader1@<wbr>example.net</b>" in third.text
    for odd in ("0", "-1", "x", "99999999999999999999"):
        assert caller.get("/", page=odd).status == 200


def test_find_looks_in_addresses_subjects_and_tags(caller: Caller) -> None:
    caller.send(
        a_message(1),
        a_message(2, Subject="Low water"),
        a_message(3, Tag="issue-2", Cc="copy@elsewhere.example"),
    )
    caller.send(*(a_message(n, Subject="Weirs") for n in range(4, 7)))

    def found(text: str) -> list[str]:
        return re.findall(r"<b>(reader\d)@", caller.get("/", q=text).text)

    assert found("READER2@") == ["reader2"]
    assert found("low wat") == ["reader2"]
    assert found("issue-2") == ["reader3"]
    assert found("elsewhere") == ["reader3"]
    assert found("weirs") == ["reader6", "reader5", "reader4"]
    assert found("") == ["reader6", "reader5", "reader4", "reader3", "reader2", "reader1"]
    assert "No message contains “nothing such”." in caller.get("/", q="nothing such").text


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ("html", "/html"),
        ("text", "Hello, reader 1."),
        ("headers", "&lt;1.1@example.org&gt;"),
        ("source", "Subject: Tide tables"),
        ("unknown", "/html"),
    ],
)
def test_one_message_is_shown_part_by_part(caller: Caller, part: str, shown: str) -> None:
    message_id = caller.send(a_message(1))[0]["MessageID"]
    caller.send(*messages(30))
    reply = caller.get("/", message=message_id, part=part)
    check(reply)
    assert shown in reply.text
    assert "mailbox open" in reply.text


def test_html_of_a_mail_cannot_act(caller: Caller) -> None:
    html = f'<!DOCTYPE html><p style="color: red">Hello</p>{EVIL}'
    message_id = caller.send(a_message(1, HtmlBody=html))[0]["MessageID"]
    reply = caller.get(f"/message/{message_id}/html")
    assert reply.text == html.replace("html>", 'html><base target="_blank">', 1)
    policy = [rule.strip() for rule in reply.headers["content-security-policy"].split(";")]
    assert "default-src 'none'" in policy
    assert "sandbox allow-popups allow-popups-to-escape-sandbox" in policy
    assert "script-src" not in reply.headers["content-security-policy"]
    frame = 'sandbox="allow-popups allow-popups-to-escape-sandbox"'
    assert frame in caller.get("/").text
    assert caller.get("/message/00000000-0000-4000-8000-000000000000/html").status == 404
    plain = caller.send(a_message(1, HtmlBody="<p>Hello</p>"))[0]["MessageID"]
    assert caller.get(f"/message/{plain}/html").text == '<base target="_blank"><p>Hello</p>'
    caller.send(a_message(1, HtmlBody=LEFT_OUT))
    assert "This message has no HTML part." in caller.get("/").text


@pytest.mark.parametrize("part", ["html", "text", "headers", "source"])
def test_everything_that_a_sender_wrote_is_escaped(caller: Caller, part: str) -> None:
    caller.send(
        a_message(
            1,
            Subject=EVIL,
            Tag=EVIL,
            TextBody=EVIL,
            HtmlBody="<p>x</p>",
            From=f'"{EVIL[:-4]}" <letter@example.org>',
            Metadata={"delivery": EVIL, "<b>": EVIL},
            Headers=[{"Name": "X-<b>", "Value": EVIL}],
        )
    )
    caller.fault("refuse_429", recipient=EVIL)
    for page in (
        caller.get("/", part=part),
        caller.get("/", q=EVIL),
        caller.get("/", q=f"{EVIL} not there"),
        caller.get("/faults"),
    ):
        assert EVIL not in page.text
        assert "<script" not in page.text
        assert ESCAPED in page.text
        check(page)


def test_inbox_says_whether_a_reader_has_two_copies(caller: Caller) -> None:
    caller.send(*messages(3))
    caller.send(a_message(1, MessageStream="outbound", Metadata={"delivery": "confirm.1.1"}))
    kinds = "broadcast messages and 1 transactional message;"
    assert f"3 {kinds} no reader has two copies of one edition." in caller.get("/").text
    caller.fault("accept_then_500")
    caller.post("/email/batch", [a_message(2), a_message(4, Metadata=None)])
    page = caller.get("/").text
    assert f"5 {kinds} 1 reader has two copies of one edition. Without a delivery key: 1." in page
    assert "Accepted, but the caller got no valid reply: 2." in page
    # The note is in both rows of the list, and next to the newest message.
    assert page.count("Accepted, answered 500") == 3
    assert "no reader has two" not in page
    caller.form("/empty")
    caller.send(a_message(1, Metadata=None))
    assert "1 broadcast message; none has a delivery key." in caller.get("/").text


def test_only_a_web_address_becomes_an_unsubscribe_link(caller: Caller) -> None:
    for link, shown in (
        ("<javascript:alert(1)>", "by mail only"),
        ("<mailto:leave@example.org>", "by mail only"),
        ("<https://example.org/u/1/>", "a link, not one-click:"),
    ):
        caller.send(a_message(1, Headers=[{"Name": "List-Unsubscribe", "Value": link}]))
        page = caller.get("/").text
        assert shown in page
        assert "javascript:" not in page


def test_a_fault_can_be_set_and_cleared_by_form(caller: Caller) -> None:
    set_it = caller.form("/faults", kind="refuse_429", calls="", probability="1", seed="1789")
    assert (set_it.status, set_it.headers["location"]) == (303, "/faults")
    assert "1 active fault" in caller.get("/faults").text
    check(caller.get("/faults"))
    assert caller.post("/email", a_message()).status == 429
    number = str(caller.get("/__sandbox__/faults").json["faults"][0]["id"])
    assert caller.form("/faults/clear", id=number).status == 303
    assert caller.post("/email", a_message()).status == 200
    caller.form("/faults", kind="slow", calls="2")
    caller.form("/faults", kind="reset", calls="2")
    assert caller.form("/faults/clear").status == 303
    assert caller.get("/__sandbox__/faults").json == {"faults": []}
    assert caller.form("/faults/release", outcome="answer").status == 303
    caller.fault("slow", seconds=0)
    caller.send(a_message())
    assert "No active faults" in caller.get("/faults").text


def test_invalid_fault_form_keeps_its_values(caller: Caller) -> None:
    reply = caller.form("/faults", kind="slow", calls="1", seconds="<long>")
    assert reply.status == 422
    check(reply)
    assert "&#x27;seconds&#x27; is &#x27;&lt;long&gt;&#x27;" in reply.text
    assert 'value="&lt;long&gt;"' in reply.text
    assert '<option value="slow" selected>' in reply.text
    reply = caller.form("/faults", kind="reset", calls="1", seconds="5")
    assert "The fault reset has no parameter &#x27;seconds&#x27;." in reply.text


def test_calls_are_listed_and_the_inbox_is_emptied(caller: Caller) -> None:
    caller.fault("accept_then_close")
    with pytest.raises(ConnectionError):
        caller.send(*messages(3))
    caller.post("/email", a_message(To="nobody"))
    reply = caller.get("/calls")
    check(reply)
    for text in ("2 calls", "1 call had a fault.", "3 of 3", "accept then close"):
        assert text in reply.text
    assert "a token" not in reply.text
    assert "Empty the inbox of 3 messages?" in caller.get("/empty").text
    assert caller.summary()["accepted"] == 3
    assert caller.form("/empty").status == 303
    assert caller.summary()["accepted"] == 0


def test_foreign_host_header_is_refused(caller: Caller) -> None:
    for host in ("evil.example", "evil.example:8025", "192.168.1.5", "localhost.evil.example", ""):
        reply = caller.call("GET", "/", headers={"Host": host})
        assert reply.status == 403
        assert reply.text == "This sandbox answers only to localhost and 127.0.0.1.\n"
    for host in ("localhost", "LOCALHOST:8025", "127.0.0.1", "127.0.0.1:1", "[::1]:8025"):
        assert caller.call("GET", "/", headers={"Host": host}).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_form_from_another_site_changes_nothing(caller: Caller, origin: str) -> None:
    message = caller.send(a_message())[0]["MessageID"]
    caller.fault("refuse_429")
    for path in (
        *("/faults", "/faults/clear", "/faults/release", "/faults/hurry", "/empty"),
        f"/message/{message}/events",
    ):
        body = b"kind=slow&calls=1&event=complaint&stream=broadcast&address=a%40example.net"
        assert caller.call("POST", path, body, {"Origin": origin}).status == 403, path
    assert caller.summary()["accepted"] == 1
    assert len(caller.get("/__sandbox__/faults").json["faults"]) == 1


def test_late_events_can_be_posted_at_once_by_form(posting: Caller, receiver: Receiver) -> None:
    assert "late event" not in posting.get("/faults").text
    posting.fault("webhook_delay", seconds=600)
    posting.send(a_message(1), a_message(2))
    assert receiver.events(1)[0]["Recipient"] == "reader2@example.net"
    page = posting.get("/faults")
    check(page)
    assert "Post 1 late event now" in page.text
    assert posting.form("/faults/hurry").status == 303
    assert receiver.events(2)[1]["Recipient"] == "reader1@example.net"
