"""Classify the replies of an SMTP server by their codes and texts.

The enhanced code decides, then the code, then the text. See RFC 5321, section 4.2 (codes), and RFC
3463 (enhanced codes). An unlisted reply concerns the account, so it stops the edition and marks no
reader.
"""

import re
import smtplib
from enum import Enum, auto

from delivery.redact_addresses import read_text
from delivery.rules.call_results import (
    CallResult,
    Deferred,
    MessageResult,
    NotSent,
    NotTried,
    RejectedForAll,
    Unanswered,
)
from delivery.rules.outcomes import Failed
from delivery.rules.reason import Reason, ReasonCode, Remedy

MAX_TEXT_LENGTH = 300
CLOSING = 421
NO_MAIL_ACCEPTED = 521
TOO_BIG = 552
# With this code, Debian's Postfix refuses to relay for an unknown client. Waiting does not help.
NO_RELAY_NOW = 454
LOGIN_CODES = frozenset({530, 534, 535, 538})
# Refusals of a recipient at RCPT that many servers send without an enhanced code.
RECIPIENT_CODES = frozenset({550, 551, 553, 556})

_ENHANCED = re.compile(r"\s*([245])\.(\d{1,3})\.(\d{1,3})\b")
# What servers write if they refuse this sender, this client or this content, not this recipient.
_ABOUT_US = re.compile(
    r"relay|authenti|polic|block|black|spam|spf|dkim|dmarc|reputation|banned|denied|not permitted"
    r"|not allowed|sender|rate|quota exceeded for",
    re.IGNORECASE,
)
_ABOUT_THE_SIZE = re.compile(r"size|too (?:big|large|long)", re.IGNORECASE)


class Stage(Enum):
    """The command to which the server replied."""

    LOGIN = auto()
    SENDER = auto()
    RECIPIENT = auto()
    CONTENT = auto()


def classify_reply(stage: Stage, code: int, text: str) -> MessageResult:
    """Classify a refusal of one message."""
    reason = _quoted(code, text)
    if code == CLOSING:
        # The server closes the connection, whatever the message is.
        return NotTried(reason)
    if stage is Stage.SENDER and 400 <= code < 500:
        # The server knows no recipient yet, so it limits this client, or is short of something.
        return NotTried(reason)
    if stage is Stage.RECIPIENT and code == NO_RELAY_NOW:
        return _for_all(reason, Remedy.MAIL_LOGIN)
    if 400 <= code < 500:
        return Deferred(reason)
    if stage is Stage.LOGIN or code in LOGIN_CODES:
        return _for_all(reason, Remedy.MAIL_LOGIN)
    found = _ENHANCED.match(text)
    subject, detail = (int(found[2]), int(found[3])) if found else (None, None)
    if _is_about_size(code, text, subject, detail):
        return _for_all(reason, Remedy.SHORTEN_ISSUE)
    if stage is Stage.SENDER or (subject, detail) in {(1, 7), (1, 8)}:
        return _for_all(reason, Remedy.FROM_AND_REPLY_TO)
    if subject == 1:
        return Failed(reason, refused=True)
    if subject == 2:
        return Failed(reason, refused=detail == 1)
    if subject is None and stage is Stage.RECIPIENT and code in RECIPIENT_CODES:
        return _for_all(reason) if _ABOUT_US.search(text) else Failed(reason, refused=True)
    return _for_all(reason)


def _is_about_size(code: int, text: str, subject: int | None, detail: int | None) -> bool:
    if subject is not None:
        return (subject, detail) in {(3, 4), (2, 3)}
    return code == TOO_BIG and bool(_ABOUT_THE_SIZE.search(text))


def _for_all(reason: Reason, remedy: Remedy = Remedy.READ_REPLY) -> RejectedForAll:
    return RejectedForAll(reason.with_params(remedy=remedy))


def _quoted(code: int, text: str) -> Reason:
    shown = read_text(text, MAX_TEXT_LENGTH)
    return Reason.of(ReasonCode.PROVIDER_ERROR, error_code=code, text=shown)


def classify_error(error: Exception, *, is_complete: bool, is_late: bool) -> MessageResult:
    """Classify an error while a message was sent.

    `is_complete`: the message's last byte may have been written, so only a reply makes its result
    certain.
    """
    match error:
        case smtplib.SMTPRecipientsRefused(recipients=refused):
            code, text = next(iter(refused.values()))
            return classify_reply(Stage.RECIPIENT, code, _text(text))
        case smtplib.SMTPSenderRefused(smtp_code=code, smtp_error=text):
            return classify_reply(Stage.SENDER, code, _text(text))
        # Another code, or a line that is no reply, does not say that the message was refused.
        case smtplib.SMTPDataError(smtp_code=code, smtp_error=text) if 400 <= code < 600:
            return classify_reply(Stage.CONTENT, code, _text(text))
    if not is_complete:
        return NotTried(_broken(error, is_late))
    return Unanswered(_broken(error, is_late))


def classify_opening(error: Exception, url: str) -> CallResult:
    """Classify an error before the first message: nothing was sent."""
    match error:
        case smtplib.SMTPAuthenticationError(smtp_code=code, smtp_error=text):
            result = classify_reply(Stage.LOGIN, code, _text(text))
        case smtplib.SMTPNotSupportedError():
            return RejectedForAll(
                Reason.of(
                    ReasonCode.PROVIDER_ERROR,
                    error_code=0,
                    text=str(error),
                    remedy=Remedy.MAIL_SETTINGS,
                )
            )
        case smtplib.SMTPResponseException(smtp_code=code, smtp_error=text) if code > 0:
            result = classify_reply(Stage.CONTENT, code, _text(text))
        case _:
            return NotSent(Reason.of(ReasonCode.NO_CONNECTION, url=url, error=type(error).__name__))
    if isinstance(result, RejectedForAll | Deferred):
        return result
    return NotSent(result.reason) if isinstance(result, NotTried) else NotSent(_quoted(code, ""))


def _broken(error: Exception, is_late: bool) -> Reason:
    if is_late:
        return Reason.of(ReasonCode.NO_RESPONSE_IN_TIME)
    return Reason.of(ReasonCode.CONNECTION_BROKE, error=type(error).__name__)


def _text(reply: bytes | str) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
