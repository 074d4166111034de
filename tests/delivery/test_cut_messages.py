"""A message is cut once, and each reader's is byte for byte what writing all of it would give."""

from __future__ import annotations

import uuid
from html import escape
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.cut_message import Marks
from delivery.merge_fields import Template
from delivery.message import LONGEST_SUBJECT, Copy, Envelope, Renderer
from tests.delivery.any_input import repeatable

ATTEMPT = uuid.UUID("11111111-2222-4333-8444-555555555555")
ISSUE = uuid.UUID("0d9c8b7a-6f5e-4d3c-8b1a-09f8e7d6c5b4")

# Texts with everything that formatting, JSON or HTML could trip over.
ODD = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("%&<>\"'\\{}\n\x00\u2028")),
    max_size=30,
)
FIELDS = ["{{ name }}", "{{ name|reader }}", "{{ email }}", "{{ unsubscribe_url }}"]
LETTERS = st.lists(st.one_of(ODD, st.sampled_from([*FIELDS, "%b", "%%", "%s"])), max_size=8)


def url_of(recipient: int) -> str:
    return f'https://letter.example.org/a"b&c/{recipient}%20/'


def written_whole(copy: Copy, title: str, html: str, text: str) -> bytes:
    values = {
        "name": copy.name,
        "email": copy.address,
        "unsubscribe_url": url_of(copy.recipient),
        "archive_url": "https://letter.example.org/archive/?a=1&b=2",
    }
    key = f"{ISSUE.hex}.3.{copy.recipient}"
    subject = Template(title, html=False).fill(values)
    message: dict[str, Any] = {
        "From": "Ada <letter@news.example.org>",
        "Tag": f"issue-{ISSUE.hex}",
        "TrackOpens": False,
        "TrackLinks": "None",
        "MessageStream": "broadcast",
        "ReplyTo": "ada@example.org",
        "To": copy.address,
        "Subject": one_line(subject)[:LONGEST_SUBJECT],
        "Metadata": {"delivery": key, "attempt": ATTEMPT.hex},
        "Headers": [
            {"Name": "Message-ID", "Value": f"<{key}@news.example.org>"},
            {"Name": "X-PM-KeepID", "Value": "true"},
            {"Name": "List-Id", "Value": '"100 % Ada" <letter.news.example.org>'},
            {"Name": "List-Unsubscribe", "Value": f"<{url_of(copy.recipient)}>"},
            {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"},
        ],
    }
    if html:
        message["HtmlBody"] = Template(html, html=True).fill(values)
    if text:
        message["TextBody"] = Template(text, html=False).fill(values)
    return orjson.dumps(message)


def one_line(text: str) -> str:
    """Each run of control characters and line ends as one blank."""
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
    return Renderer(
        Envelope(
            issue=ISSUE,
            version=3,
            sender="Ada <letter@news.example.org>",
            reply_to="ada@example.org",
            stream="broadcast",
            newsletter="100 % Ada",
            archive_url="https://letter.example.org/archive/?a=1&b=2",
            handles_unsubscribes=True,
        ),
        title=title,
        html_mail=html,
        text_mail=text,
        unsubscribe_urls=lambda recipients: [url_of(recipient) for recipient in recipients],
    )


@repeatable
@given(
    title=LETTERS,
    html=LETTERS,
    text=LETTERS,
    readers=st.lists(
        st.builds(Copy, st.integers(0, 10**18 - 1), st.one_of(st.just(""), ODD), ODD), max_size=4
    ),
)
def test_each_readers_message_is_what_writing_all_of_it_gives(
    title: list[str], html: list[str], text: list[str], readers: list[Copy]
) -> None:
    letter = ("".join(title), "".join(html), "".join(text))
    assert renderer(*letter).messages(readers, ATTEMPT) == [
        written_whole(reader, *letter) for reader in readers
    ]


def test_readers_with_and_without_a_name_share_no_fallback() -> None:
    letter = ("For {{ name|you }}", "<p>{{ name|reader }}</p>", "{{ name }}")
    readers = [
        Copy(1, "a@example.net", "Ada"),
        Copy(2, "b@example.net", ""),
        Copy(3, "c@d.net", "C"),
    ]
    made = renderer(*letter).messages(readers, ATTEMPT)
    assert made == [written_whole(reader, *letter) for reader in readers]


def test_a_text_that_holds_a_mark_of_another_is_not_filled() -> None:
    mark = Marks("a text").of("name")
    letter = ("Swifts", f"<p>{mark}</p>", mark)
    reader = Copy(1, "a@example.net", "Ada")
    assert renderer(*letter).messages([reader], ATTEMPT) == [written_whole(reader, *letter)]


@pytest.mark.parametrize("in_html", [False, True])
def test_a_value_is_escaped_for_where_it_stands(in_html: bool) -> None:
    marks = Marks()
    cut = marks.cut({"a": marks.of("name", in_html=in_html), "b": "100 %"})
    value = 'Q & "A" <b>\\'
    shown = escape(value) if in_html else value
    assert cut.filled({"name": value}) == orjson.dumps({"a": shown, "b": "100 %"})
