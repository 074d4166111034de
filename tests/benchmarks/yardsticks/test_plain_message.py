"""The yardsticks' messages have the same keys and lengths as the worker's."""

import uuid
from typing import Any

import orjson
import pytest

from benchmarks.letter import HOST, LETTER, SENDER, TITLE
from benchmarks.yardsticks.bare_loop import plain_message
from delivery.mail.message_for_reader import Links, Renderer
from delivery.models import Edition, Newsletter
from delivery.postmark.postmark_provider import PostmarkProvider

READER = (4711, "reader4711@example.net", "Ada Marlow")


def shape(value: Any) -> Any:
    """Return a message's keys and types, at every level, and the names of its headers."""
    if isinstance(value, dict):
        if set(value) == {"Name", "Value"}:
            return value["Name"]
        return {key: shape(value[key]) for key in value}
    if isinstance(value, list):
        return sorted(shape(each) for each in value)
    return type(value).__name__


def test_yardstick_sends_a_2_kb_message_like_the_workers() -> None:
    issue, attempt = uuid.uuid4(), uuid.uuid4()
    plain = plain_message(issue.hex, attempt.hex, *READER)
    headers = {header["Name"]: header["Value"] for header in plain["Headers"]}
    link = headers["List-Unsubscribe"].strip("<>")
    edition = Edition(issue_id=issue, version=1, stream="broadcast", title=TITLE, html_mail=LETTER)
    links = Links(lambda _: [link], lambda _: [], lambda *_: "")
    newsletter, as_call = Newsletter(name="The Homing Letter"), PostmarkProvider.shape
    renderer = Renderer(edition, newsletter, links, sender=SENDER, shape=as_call)
    written = renderer.body([READER], attempt)
    [message] = orjson.loads(written)

    assert shape(plain) == shape(message)
    assert len(orjson.dumps(plain)) == pytest.approx(len(written), rel=0.02)
    assert len(plain["HtmlBody"].encode()) == pytest.approx(2_000, abs=60)
    assert f'href="{link}"' in plain["HtmlBody"]
    assert HOST in link
