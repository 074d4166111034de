"""The meaning of an SMTP server's replies."""

import smtplib

import pytest

from delivery.django_mail.classify_smtp import (
    Stage,
    classify_error,
    classify_opening,
    classify_reply,
)
from delivery.rules.call_results import Deferred, NotSent, NotTried, RejectedForAll
from delivery.rules.outcomes import Failed
from delivery.rules.reason import Remedy

SENDER, RECIPIENT, CONTENT = Stage.SENDER, Stage.RECIPIENT, Stage.CONTENT


@pytest.mark.parametrize(
    ("stage", "code", "text"),
    [
        (RECIPIENT, 550, "5.1.1 <reader@example.net>: Recipient address rejected"),
        (RECIPIENT, 550, "No such user here"),
        (RECIPIENT, 551, "User not local"),
        (RECIPIENT, 553, "Mailbox name not allowed here"),
        (RECIPIENT, 550, "5.2.1 The account is disabled"),
        (CONTENT, 550, "5.1.1 Unknown address"),
    ],
)
def test_some_replies_refuse_the_recipient(stage: Stage, code: int, text: str) -> None:
    found = classify_reply(stage, code, text)
    if text.startswith("Mailbox name"):
        # The words could also mean that this sender is not allowed.
        assert isinstance(found, RejectedForAll)
    else:
        assert found == Failed(found.reason, refused=True)


def test_a_full_mailbox_is_missed_not_refused() -> None:
    found = classify_reply(RECIPIENT, 552, "5.2.2 Mailbox full")
    assert found == Failed(found.reason, refused=False)


@pytest.mark.parametrize("stage", [RECIPIENT, CONTENT])
@pytest.mark.parametrize("code", [432, 450, 451, 452])
def test_a_4xx_is_not_now(stage: Stage, code: int) -> None:
    assert isinstance(classify_reply(stage, code, "4.2.0 Later"), Deferred)


@pytest.mark.parametrize("code", [450, 451, 452, 454])
def test_a_4xx_before_a_recipient_judged_nothing(code: int) -> None:
    assert isinstance(classify_reply(SENDER, code, "4.7.1 Too much mail"), NotTried)


@pytest.mark.parametrize("stage", [SENDER, RECIPIENT, CONTENT])
def test_a_closing_server_judged_nothing(stage: Stage) -> None:
    assert isinstance(classify_reply(stage, 421, "Too busy"), NotTried)


@pytest.mark.parametrize(
    ("stage", "code", "text", "remedy"),
    [
        (RECIPIENT, 550, "5.7.1 Relaying denied", Remedy.READ_REPLY),
        (RECIPIENT, 550, "Relay access denied", Remedy.READ_REPLY),
        (RECIPIENT, 454, "4.7.1 Relay access denied", Remedy.MAIL_LOGIN),
        (RECIPIENT, 530, "Authentication required", Remedy.MAIL_LOGIN),
        (SENDER, 535, "5.7.8 Wrong password", Remedy.MAIL_LOGIN),
        (SENDER, 553, "5.7.1 Sender address rejected: not owned", Remedy.FROM_AND_REPLY_TO),
        (CONTENT, 554, "5.7.1 Message rejected as spam", Remedy.READ_REPLY),
        (CONTENT, 552, "5.3.4 Message size exceeds limit", Remedy.SHORTEN_ISSUE),
        (CONTENT, 552, "Message too large", Remedy.SHORTEN_ISSUE),
        (RECIPIENT, 501, "Syntax error", Remedy.READ_REPLY),
        (CONTENT, 599, "Whatever", Remedy.READ_REPLY),
    ],
)
def test_every_other_refusal_stops_the_edition(
    stage: Stage, code: int, text: str, remedy: Remedy
) -> None:
    found = classify_reply(stage, code, text)
    assert isinstance(found, RejectedForAll)
    assert found.reason.params["remedy"] == remedy


def test_an_address_in_a_reply_is_not_kept() -> None:
    found = classify_reply(RECIPIENT, 550, "5.1.1 <reader@example.net> unknown")
    assert "example.net" not in found.reason.dumps()  # type: ignore[union-attr]


@pytest.mark.parametrize("code", [-1, 200, 354, 600])
def test_a_strange_reply_after_the_end_refuses_nothing(code: int) -> None:
    error = smtplib.SMTPDataError(code, b"?")
    kind = type(classify_error(error, is_complete=True, is_late=False)).__name__
    assert kind == "Unanswered"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError(), NotSent),
        (smtplib.SMTPServerDisconnected("gone"), NotSent),
        (smtplib.SMTPConnectError(421, b"Busy"), NotSent),
        (smtplib.SMTPConnectError(554, b"No service for you"), RejectedForAll),
        (smtplib.SMTPAuthenticationError(454, b"4.7.0 Later"), Deferred),
        (smtplib.SMTPAuthenticationError(535, b"5.7.8 Wrong"), RejectedForAll),
        (smtplib.SMTPNotSupportedError("STARTTLS is not supported"), RejectedForAll),
    ],
)
def test_without_a_session_nothing_was_sent(error: Exception, kind: type) -> None:
    assert isinstance(classify_opening(error, "smtp.example.org:587"), kind)
