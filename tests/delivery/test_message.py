"""One reader's message, as it goes to Postmark."""

from __future__ import annotations

import email.header
import uuid
from dataclasses import replace
from typing import Any

import orjson
import pytest

from delivery.message import POSTMARK_UNSUBSCRIBE, Copy, Envelope, Renderer

ISSUE = uuid.UUID("0d9c8b7a-6f5e-4d3c-8b1a-09f8e7d6c5b4")
ATTEMPT = uuid.UUID("11111111-2222-4333-8444-555555555555")
KEY = "0d9c8b7a6f5e4d3c8b1a09f8e7d6c5b4.1.7"
ENVELOPE = Envelope(
    issue=ISSUE,
    version=1,
    sender="Ada's Letter <letter@news.example.org>",
    reply_to="ada@example.org",
    stream="broadcast",
    newsletter="Ada's Letter",
    archive_url="https://letter.example.org/archive/tides/",
    handles_unsubscribes=True,
)
READER = Copy(recipient=7, address="Reader+x@example.net", name="Rita")


def message(
    copy: Copy = READER,
    attempt: uuid.UUID = ATTEMPT,
    *,
    title: str = "Tides for {{ name|you }}",
    html: str = '<p>Dear {{ name|reader }}</p><a href="{{ unsubscribe_url }}">Leave</a>',
    text: str = "Dear {{ name|reader }}\n{{ unsubscribe_url }}\n",
    **envelope: Any,
) -> dict[str, Any]:
    renderer = Renderer(
        replace(ENVELOPE, **envelope),
        title=title,
        html_mail=html,
        text_mail=text,
        unsubscribe_urls=lambda recipients: [
            f"https://letter.example.org/unsubscribe/t{recipient}/" for recipient in recipients
        ],
    )
    made: dict[str, Any] = orjson.loads(renderer.messages([copy], attempt)[0])
    return made


def headers(made: dict[str, Any]) -> dict[str, str]:
    names = [header["Name"] for header in made["Headers"]]
    assert len(set(names)) == len(names)
    return {header["Name"]: header["Value"] for header in made["Headers"]}


def test_the_message_for_one_reader_in_full() -> None:
    assert message() == {
        "From": "Ada's Letter <letter@news.example.org>",
        "To": "Reader+x@example.net",
        "Subject": "Tides for Rita",
        "Tag": "issue-0d9c8b7a6f5e4d3c8b1a09f8e7d6c5b4",
        "Metadata": {"delivery": KEY, "attempt": "11111111222243338444555555555555"},
        "Headers": [
            {"Name": "Message-ID", "Value": f"<{KEY}@news.example.org>"},
            {"Name": "X-PM-KeepID", "Value": "true"},
            {"Name": "List-Id", "Value": '"Ada\'s Letter" <letter.news.example.org>'},
            {"Name": "List-Unsubscribe", "Value": "<https://letter.example.org/unsubscribe/t7/>"},
            {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"},
        ],
        "TrackOpens": False,
        "TrackLinks": "None",
        "MessageStream": "broadcast",
        "ReplyTo": "ada@example.org",
        "HtmlBody": (
            '<p>Dear Rita</p><a href="https://letter.example.org/unsubscribe/t7/">Leave</a>'
        ),
        "TextBody": "Dear Rita\nhttps://letter.example.org/unsubscribe/t7/\n",
    }


def test_a_second_try_is_the_same_mail_but_for_the_attempt() -> None:
    first, second = message(), message(attempt=uuid.uuid4())
    assert first["Metadata"].pop("attempt") != second["Metadata"].pop("attempt")
    assert orjson.dumps(first) == orjson.dumps(second)


def test_each_reader_and_each_version_has_a_message_id_of_its_own() -> None:
    ids = {
        headers(made)["Message-ID"]
        for made in (message(), message(READER._replace(recipient=8)), message(version=2))
    }
    assert len(ids) == 3


def test_to_is_exactly_the_address_so_that_a_name_cannot_add_a_recipient() -> None:
    made = message(READER._replace(name="Eve, other@example.org"))
    assert made["To"] == "Reader+x@example.net"


def test_a_part_that_was_not_written_is_not_sent() -> None:
    assert "HtmlBody" not in message(html="")
    assert "TextBody" not in message(text="")


def test_without_a_reply_to_there_is_none() -> None:
    assert "ReplyTo" not in message(reply_to="")


def test_a_name_is_escaped_in_html_only() -> None:
    made = message(READER._replace(name="<b>Rita & Co</b>"))
    assert "Dear &lt;b&gt;Rita &amp; Co&lt;/b&gt;" in made["HtmlBody"]
    assert "Dear <b>Rita & Co</b>" in made["TextBody"]
    assert made["Subject"] == "Tides for <b>Rita & Co</b>"


@pytest.mark.parametrize(
    "name", ["Rita\r\nBcc: all@example.org", "Rita\x00\x1b", "Rita\x85", "Rita\u2028\u2029"]
)
def test_control_characters_of_a_name_never_reach_the_subject(name: str) -> None:
    subject = message(READER._replace(name=name))["Subject"]
    assert subject.startswith("Tides for Rita ")
    assert len(subject.splitlines()) == 1
    assert subject.isprintable()


def test_a_subject_is_no_longer_than_postmark_takes() -> None:
    assert (
        len(message(title="{{ name }}" * 20, copy=READER._replace(name="x" * 256))["Subject"])
        == 2000
    )


def test_where_postmark_handles_unsubscribes_its_placeholder_stands_and_no_header_of_ours() -> None:
    made = message(handles_unsubscribes=False)
    assert f'<a href="{POSTMARK_UNSUBSCRIBE}">' in made["HtmlBody"]
    assert POSTMARK_UNSUBSCRIBE in made["TextBody"]
    assert set(headers(made)) == {"Message-ID", "X-PM-KeepID", "List-Id"}


def test_metadata_keeps_to_postmarks_limits_for_the_largest_numbers() -> None:
    made = message(READER._replace(recipient=10**18 - 1), version=10**9 - 1)
    for name, value in made["Metadata"].items():
        assert len(name) <= 20
        assert len(value) <= 80


@pytest.mark.parametrize(
    ("newsletter", "list_id"),
    [
        ("Tides", '"Tides" <letter.news.example.org>'),
        ('The "Tide" Letter', '"The \\"Tide\\" Letter" <letter.news.example.org>'),
        ("Back\\slash", '"Back\\\\slash" <letter.news.example.org>'),
        ("Comma, <Angle>", '"Comma, <Angle>" <letter.news.example.org>'),
        ("Two\r\nLines: x", '"Two Lines: x" <letter.news.example.org>'),
    ],
)
def test_the_list_has_a_readable_name_and_an_id(newsletter: str, list_id: str) -> None:
    assert headers(message(newsletter=newsletter))["List-Id"] == list_id


@pytest.mark.parametrize(
    "newsletter",
    ["Brevkort från Åland", "é" * 100, "\U0001f426" * 100],
    ids=["short", "long", "long and beyond the plane"],
)
def test_a_name_beyond_ascii_is_encoded_and_reads_the_same(newsletter: str) -> None:
    list_id = headers(message(newsletter=newsletter))["List-Id"]
    phrase, angle, list_name = list_id.rpartition(" <")
    assert angle + list_name == " <letter.news.example.org>"
    assert all(len(word) <= 75 for word in phrase.split(" "))
    assert str(email.header.make_header(email.header.decode_header(phrase))) == newsletter


@pytest.mark.parametrize(
    "newsletter",
    ["x" * 100, '"' * 100, "\U0001f426" * 100, "a\nb"],
    ids=["long", "quotes", "birds", "two lines"],
)
def test_every_header_is_one_ascii_line_shorter_than_998(newsletter: str) -> None:
    for value in headers(message(newsletter=newsletter)).values():
        assert value.isascii()
        assert value.isprintable()
        assert len(value) < 998


def test_a_sender_without_a_name_gives_the_domain_as_well() -> None:
    assert headers(message(sender="letter@news.example.org"))["Message-ID"] == (
        f"<{KEY}@news.example.org>"
    )
