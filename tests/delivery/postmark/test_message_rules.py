"""Homing finds the messages that Postmark would refuse, and no others."""

from typing import Any

import orjson
import pytest

from delivery.postmark.message_rules import find_refusals
from delivery.rules.reason import ReasonCode
from postmark_sandbox.http import PostmarkError
from postmark_sandbox.rules.streams import Streams
from postmark_sandbox.rules.validation import Account, check

MESSAGE = {
    "From": "Edith <edith@example.org>",
    "To": "reader1@example.net",
    "Subject": "The patience of herons",
    "TextBody": "Hello",
    "Tag": "newsletter",
    "MessageStream": "broadcast",
    "Metadata": {"delivery": "a.1.2", "attempt": "b"},
    "Headers": [{"Name": "List-Id", "Value": "<letter.example.org>"}],
}
ACCEPTED: list[dict[str, Any]] = [
    {},
    {"To": "o'brien+a.b@sub-domain.example"},
    {"From": '"Whitlock, E." <edith@example.org>', "ReplyTo": "edith@example.org"},
    {"From": " Édith Ω <edith@example.org> "},
    {"Subject": "x" * 2000, "Tag": "y" * 1000},
    {"HtmlBody": "é" * (5 * 1024 * 1024 // 2)},
]
REFUSED: list[dict[str, Any]] = [
    {"To": to}
    for to in (
        "",
        "o?d@example.net",
        ".a@example.net",
        "a..b@example.net",
        "reader",
        "a@b_c",
        "ü@a.b",
    )
] + [
    {"From": "edith"},
    {"From": "Whitlock, E. <edith@example.org>"},
    {"From": "E\n<edith@example.org>"},
    {"From": "x" * 300 + " <edith@example.org>"},
    {"ReplyTo": "not an address"},
    {"TextBody": ""},
    {"Subject": "x" * 2001},
    {"Subject": "two\nlines"},
    {"Tag": "y" * 1001},
    {"Metadata": {"x" * 21: "1"}},
    {"Metadata": {"x": "1" * 81}},
    {"Headers": [{"Name": "List-Id", "Value": "a\r\nBcc: b"}]},
    {"HtmlBody": "x" * (5 * 1024 * 1024 + 1)},
    {"HtmlBody": "\\" * (5 * 1024 * 1024 - 9), "TextBody": "\\" * 1024},
]


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [(changes, False) for changes in ACCEPTED] + [(changes, True) for changes in REFUSED],
)
def test_rules_agree_with_the_sandbox(changes: dict[str, Any], is_refused: bool) -> None:
    message = MESSAGE | changes
    account = Account(Streams(0, "None", {}), suppressed=lambda _: {})
    try:
        check(message, account, batched=True, weigh=True)
        sandbox_refuses = False
    except PostmarkError:
        sandbox_refuses = True

    ((_, reason),) = find_refusals(orjson.dumps([message]))

    assert (reason is not None, sandbox_refuses) == (is_refused, is_refused)


def test_a_refusal_quotes_the_sentence() -> None:
    ((_, reason),) = find_refusals(orjson.dumps([MESSAGE | {"To": "o?d@example.net"}]))

    assert reason is not None
    assert reason.code == ReasonCode.PROVIDER_ERROR
    assert "Invalid 'To' address" in str(reason.params)
