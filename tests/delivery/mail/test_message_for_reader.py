"""A message for Postmark is split once, and its parts are filled for each reader."""

import email.header
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail.merge_fields import BODY_FIELDS, FieldTemplate
from delivery.mail.message_for_reader import (
    MAX_SUBJECT_LENGTH,
    Links,
    Recipient,
    Renderer,
)
from delivery.mail.message_json_template import ValueMarkers
from delivery.models import Edition, Newsletter
from delivery.postmark.postmark_provider import UNSUBSCRIBE_PLACEHOLDER, PostmarkProvider

ISSUE = uuid.UUID("0d9c8b7a-6f5e-4d3c-8b1a-09f8e7d6c5b4")
ATTEMPT = uuid.UUID("11111111-2222-4333-8444-555555555555")
KEY = "0d9c8b7a6f5e4d3c8b1a09f8e7d6c5b4.1.7"
READER: Recipient = (7, "Reader+x@example.net", "Rita")


def unused(_: Sequence[int]) -> Sequence[str]:
    """Fail if the readers' links are loaded for a letter without a link field."""
    raise AssertionError


def message(
    copy: Recipient = READER,
    attempt: uuid.UUID = ATTEMPT,
    *,
    title: str = "Tides for {{ name|you }}",
    html: str = '<p>Dear {{ name|reader }}</p><a href="{{ unsubscribe_url }}">Leave</a>',
    text: str = "Dear {{ name|reader }}\n{{ unsubscribe_url }}\n",
    version: int = 1,
    sender: str = "Ada's Letter <letter@news.example.org>",
    reply_to: str = "ada@example.org",
    newsletter: str = "Ada's Letter",
    handles_unsubscribes: bool = True,
    preferences_urls: Callable[[Sequence[int]], Sequence[str]] = unused,
    kind: str = "newsletter",
    merge_fields: Sequence[str] = (),
) -> dict[str, Any]:
    edition = Edition(
        issue_id=ISSUE,
        version=version,
        kind=kind,
        stream="broadcast",
        archive_url="https://letter.example.org/archive/tides/",
        title=title,
        html_mail=html,
        text_mail=text,
        merge_fields=[*merge_fields],
    )
    links = Links(
        lambda recipients: [
            f"https://letter.example.org/unsubscribe/t{one}/" for one in recipients
        ],
        preferences_urls,
        lambda *_: "",
        "" if handles_unsubscribes else UNSUBSCRIBE_PLACEHOLDER,
    )
    settings = Newsletter(name=newsletter, reply_to=reply_to)
    renderer = Renderer(edition, settings, links, sender=sender, shape=PostmarkProvider.shape)
    [made] = orjson.loads(renderer.body([copy], attempt))
    assert isinstance(made, dict)
    return made


def test_a_welcome_letter_always_has_its_own_unsubscribe_link() -> None:
    made = message(kind="welcome", handles_unsubscribes=False)
    assert "https://letter.example.org/unsubscribe/t7/" in made["TextBody"]
    assert "List-Unsubscribe-Post" in headers(made)


@pytest.mark.parametrize(
    ("kind", "automatic"), [("newsletter", None), ("test", None), ("welcome", "auto-generated")]
)
def test_only_automatic_mail_says_so(kind: str, automatic: str | None) -> None:
    assert headers(message(kind=kind)).get("Auto-Submitted") == automatic


def test_a_letter_may_link_to_the_choice_of_topics() -> None:
    made = message(
        html='<a href="{{ preferences_url }}">Topics</a>',
        text="{{ preferences_url }} {{ unsubscribe_url }}",
        preferences_urls=lambda recipients: [f"https://a.example/{one}?a&b" for one in recipients],
        handles_unsubscribes=False,
    )
    assert made["HtmlBody"] == '<a href="https://a.example/7?a&amp;b">Topics</a>'
    assert made["TextBody"] == "https://a.example/7?a&b {{{ pm:unsubscribe }}}"


def headers(made: dict[str, Any]) -> dict[str, str]:
    names = [header["Name"] for header in made["Headers"]]
    assert len(set(names)) == len(names)
    return {header["Name"]: header["Value"] for header in made["Headers"]}


def test_the_message_for_one_reader_is_complete() -> None:
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


# An author's field may have one of these names, which the renderer and Postmark use too.
OWN_WORDS = ("recipient", "attempt", "subject", "delivery", "link", "address", "to", "metadata")


@pytest.mark.parametrize("handles_unsubscribes", [True, False])
@pytest.mark.parametrize("word", OWN_WORDS)
def test_an_own_field_changes_nothing_but_its_place(word: str, handles_unsubscribes: bool) -> None:
    def made(field: str, title: str = "{{ name }} of {{ %s }}") -> dict[str, Any]:
        letter = f"{{{{ {field} }}}} {{{{ unsubscribe_url }}}} {{{{ preferences_url }}}}"
        return message(
            (*READER, "Kiel"),
            title=title % field,
            html=letter,
            text=letter,
            handles_unsubscribes=handles_unsubscribes,
            preferences_urls=lambda ids: [f"https://letter.example.org/p{one}/" for one in ids],
            merge_fields=[field],
        )

    assert made(word) == made("city")
    assert made(word)["Subject"] == "Rita of Kiel"
    assert made(word)["Metadata"] == {"delivery": KEY, "attempt": ATTEMPT.hex}


@pytest.mark.parametrize("word", ["email", "name", *BODY_FIELDS[-3:]])
def test_an_own_field_never_replaces_a_built_in_one(word: str) -> None:
    letter = f"{{{{ {word} }}}} {{{{ unsubscribe_url }}}}"

    def made(copy: Recipient, *fields: str) -> dict[str, Any]:
        links = {"preferences_urls": lambda ids: ["https://letter.example.org/p/" for _ in ids]}
        return message(copy, title="T", html=letter, text=letter, merge_fields=fields, **links)

    assert made((*READER, "Kiel"), word) == made(READER)


def test_a_blank_is_a_value_and_takes_no_fallback() -> None:
    letter = "[{{ name|reader }}|{{ city|town }}] {{ unsubscribe_url }}"
    copy = (7, "r@example.net", " ", " ")
    made = message(copy, title=letter, html=letter, text=letter, merge_fields=["city"])
    for part in ("Subject", "HtmlBody", "TextBody"):
        assert made[part].startswith("[ | ] ")


def test_second_try_differs_only_in_the_attempt() -> None:
    first, second = message(), message(attempt=uuid.uuid4())
    assert first["Metadata"].pop("attempt") != second["Metadata"].pop("attempt")
    assert orjson.dumps(first) == orjson.dumps(second)


def test_changed_sender_keeps_what_evidence_is_found_by() -> None:
    first, second = message(), message(sender="Ada <ada@tides.example>", attempt=uuid.uuid4())
    assert first["Metadata"]["delivery"] == second["Metadata"]["delivery"]
    assert first["Tag"] == second["Tag"]
    assert headers(second)["Message-ID"] == f"<{KEY}@tides.example>"


def test_message_ids_differ_by_reader_and_version() -> None:
    ids = {
        headers(made)["Message-ID"]
        for made in (message(), message((8, *READER[1:])), message(version=2))
    }
    assert len(ids) == 3


def test_an_empty_reply_address_sets_no_reply_to_field() -> None:
    assert "ReplyTo" not in message(reply_to="")


@pytest.mark.parametrize(
    "name", ["Rita\r\nBcc: all@example.org", "Rita\x00\x1b", "Rita\x85", "Rita\u2028\u2029"]
)
def test_control_characters_of_a_name_never_reach_the_subject(name: str) -> None:
    subject = message((*READER[:2], name))["Subject"]
    assert subject.startswith("Tides for Rita ")
    assert len(subject.splitlines()) == 1
    assert subject.isprintable()


def test_a_subject_is_no_longer_than_postmark_takes() -> None:
    assert len(message(title="{{ name }}" * 20, copy=(*READER[:2], "x" * 256))["Subject"]) == 2000


def test_postmark_unsubscribes_use_its_placeholder_without_our_header() -> None:
    made = message(handles_unsubscribes=False)
    assert f'<a href="{UNSUBSCRIBE_PLACEHOLDER}">' in made["HtmlBody"]
    assert UNSUBSCRIBE_PLACEHOLDER in made["TextBody"]
    assert set(headers(made)) == {"Message-ID", "X-PM-KeepID", "List-Id"}


def test_postmarks_own_placeholder_is_never_encoded() -> None:
    text = "https://x.org/?u={{ unsubscribe_url }}&e={{ email }}"
    sent = message(text=text, handles_unsubscribes=False)["TextBody"]
    assert sent == f"https://x.org/?u={UNSUBSCRIBE_PLACEHOLDER}&e=Reader%2Bx%40example.net"


def test_metadata_keeps_to_postmarks_limits_for_the_largest_numbers() -> None:
    made = message((10**18 - 1, *READER[1:]), version=10**9 - 1)
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


# Texts with characters that are special in formatting, JSON or HTML.
ODD = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("%&<>\"'\\{}\n\x00\x7f\u2028")
    ),
    max_size=30,
)
FIELDS = ["{{ name }}", "{{ name|reader }}", "{{ email }}", "{{ unsubscribe_url }}"]
ADDRESSES = ["https://x.org/?n=", "{{ archive_url }}?n=", '<a href="/?n=', "mailto:"]
PIECES = st.sampled_from([*FIELDS, *ADDRESSES, "%b", "%%", "%s"])
LETTERS = st.lists(st.one_of(ODD, PIECES), max_size=8)


def url_of(recipient: int) -> str:
    return f'https://letter.example.org/a"b&c/{recipient}%20/'


def written_whole(copy: tuple[int, str, str], title: str, html: str, text: str) -> bytes:
    recipient, address, name = copy
    values = {
        "name": name,
        "email": address,
        "unsubscribe_url": url_of(recipient),
        "archive_url": "https://letter.example.org/archive/?a=1&b=2",
    }
    key = f"{ISSUE.hex}.3.{recipient}"
    subject = FieldTemplate(title, html=False).fill(values)
    message: dict[str, Any] = {
        "From": "Ada <letter@news.example.org>",
        "Tag": f"issue-{ISSUE.hex}",
        "TrackOpens": False,
        "TrackLinks": "None",
        "MessageStream": "broadcast",
        "ReplyTo": "ada@example.org",
        "To": address,
        "Subject": one_line(subject)[:MAX_SUBJECT_LENGTH],
        "Metadata": {"delivery": key, "attempt": ATTEMPT.hex},
        "Headers": [
            {"Name": "Message-ID", "Value": f"<{key}@news.example.org>"},
            {"Name": "X-PM-KeepID", "Value": "true"},
            {"Name": "List-Id", "Value": '"100 % Ada" <letter.news.example.org>'},
            {"Name": "List-Unsubscribe", "Value": f"<{url_of(recipient)}>"},
            {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"},
        ],
    }
    if html:
        message["HtmlBody"] = FieldTemplate(html, html=True).fill(values)
    if text:
        message["TextBody"] = FieldTemplate(text, html=False).fill(values)
    return orjson.dumps(message)


def one_line(text: str) -> str:
    """Replace each sequence of control characters and line ends with one blank."""
    line = ""
    for character in text:
        code = ord(character)
        is_control = code < 0x20 or 0x7F <= code <= 0x9F or character in "\u2028\u2029"
        if not is_control:
            line += character
        elif not line.endswith("\0"):
            line += "\0"
    return line.replace("\0", " ")


def renderer(title: str, html: str, text: str) -> Renderer:
    edition = Edition(
        issue_id=ISSUE,
        version=3,
        stream="broadcast",
        archive_url="https://letter.example.org/archive/?a=1&b=2",
        title=title,
        html_mail=html,
        text_mail=text,
    )
    newsletter = Newsletter(name="100 % Ada", reply_to="ada@example.org")
    links = Links(
        lambda recipients: [url_of(recipient) for recipient in recipients],
        unused,
        lambda *_: "",
    )
    sender = "Ada <letter@news.example.org>"
    return Renderer(edition, newsletter, links, sender=sender, shape=PostmarkProvider.shape)


@given(
    title=LETTERS,
    html=LETTERS,
    text=LETTERS,
    readers=st.lists(
        st.tuples(st.integers(0, 10**18 - 1), ODD, st.sampled_from(["", "Ada"]) | ODD),
        max_size=4,
    ),
)
def test_template_equals_the_fully_written_message(
    title: list[str], html: list[str], text: list[str], readers: list[tuple[int, str, str]]
) -> None:
    letter = ("".join(title), "".join(html), "".join(text))
    whole = b",".join(written_whole(reader, *letter) for reader in readers)
    assert renderer(*letter).body(readers, ATTEMPT) == b"[%b]" % whole


def test_marker_of_another_text_is_not_filled() -> None:
    mark = ValueMarkers("a text").of("name")
    letter = ("Swifts", f"<p>{mark}</p>", mark)
    reader = (1, "a@example.net", "Ada")
    made = renderer(*letter).body([reader], ATTEMPT)
    assert made == b"[%b]" % written_whole(reader, *letter)
