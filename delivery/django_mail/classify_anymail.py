"""Classify what django-anymail says about one message.

The status of the HTTP answer decides, then its text. An answer that does not say clearly that the
message was refused leaves it unconfirmed. A refusal that does not name the recipient as its cause
concerns the account, so it stops the edition and marks no reader.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import requests
from anymail.message import AnymailStatus

from delivery.provider.http_connection import (
    NETWORK_ERRORS,
    ResponseTooLongError,
    TooLateToStartError,
    retry_after_s,
)
from delivery.redact_addresses import read_text
from delivery.rules.call_results import (
    Deferred,
    MessageResult,
    NotTried,
    RejectedForAll,
    Unanswered,
)
from delivery.rules.outcomes import INACTIVE, Failed, Sent, Suppressed
from delivery.rules.reason import Reason, ReasonCode, Remedy

MAX_TEXT_LENGTH = 300
# Only the first bytes of an answer are read. Refusals are short.
MAX_READ = 4000
# The refusal of a recipient that no service would accept. “Not verified” is about the account:
# Amazon SES answers it to accounts that may not send yet.
_ABOUT_THE_RECIPIENT = re.compile(
    r"(?:\bto\b|recipient|destination|email address|addr_?spec)[^.]{0,80}"
    r"(?:\binvalid|not (?:a )?valid|malformed|illegal|syntax)"
    r"|(?:\binvalid|not (?:a )?valid|malformed|illegal)[^.]{0,40}"
    r"(?:\bto\b|recipient|destination|email address)"
    r"|personalizations\.0\.to\.",
    re.IGNORECASE,
)
_ABOUT_THE_SENDER = re.compile(r"\bfrom\b|sender|reply|verif|identity", re.IGNORECASE)
# Brevo's code if an earlier call with the same key was accepted.
_KEY_IS_USED = "duplicate_parameter"
# Amazon's codes for “more slowly”, besides the status 429.
_TOO_FAST = re.compile(r"Throttl|TooManyRequests|LimitExceeded")


class Answer(NamedTuple):
    """The answer that an error of Anymail holds."""

    status: int
    text: str
    retry_after_s: float | None


def answer_of(error: Exception) -> Answer | None:
    """Return the answer of the service; None if there was none."""
    response = getattr(error, "response", None)
    if isinstance(response, requests.Response):
        text = response.content[:MAX_READ].decode("utf-8", "replace")
        return Answer(response.status_code, text, retry_after_s(response.headers))
    if isinstance(response, Mapping):  # botocore's form
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        about = response.get("Error", {})
        return Answer(status, f"{about.get('Code', '')}: {about.get('Message', '')}", None)
    return None


def classify_error(
    error: Exception, *, is_complete: bool, is_late: bool, url: str, proof: str, has_key: bool
) -> MessageResult:
    """Classify an error while a message was sent.

    `is_complete`: the last byte of the request may have been written. `proof` is Homing's own name
    of the copy. `has_key`: the request had an idempotency key.
    """
    answer = answer_of(error)
    if answer is not None and answer.status:
        return _classify_answer(answer, proof, has_key=has_key)
    if not is_complete:
        if isinstance(error, TooLateToStartError):
            return NotTried(Reason.of(ReasonCode.NO_TIME_LEFT))
        is_of_network = isinstance(error, NETWORK_ERRORS)
        if is_of_network and not isinstance(error, requests.RequestException):
            kind = type(error).__name__
            return NotTried(Reason.of(ReasonCode.NO_CONNECTION, url=url, error=kind))
        return _for_all(0, f"{type(error).__name__}: {error}", Remedy.MAIL_SETTINGS)
    if isinstance(error, ResponseTooLongError):
        return Unanswered(Reason.of(ReasonCode.RESPONSE_TOO_LONG))
    return Unanswered(_broken(error, is_late))


def _classify_answer(answer: Answer, proof: str, *, has_key: bool) -> MessageResult:
    status, text = answer.status, answer.text
    if status == HTTPStatus.TOO_MANY_REQUESTS or _TOO_FAST.match(text):
        reason = Reason.of(ReasonCode.TOO_FAST)
        return Deferred(reason, answer.retry_after_s, too_fast=True)
    if status == HTTPStatus.SERVICE_UNAVAILABLE and answer.retry_after_s is not None:
        # A server that names a time did not take the request.
        return Deferred(Reason.of(ReasonCode.MAINTENANCE), answer.retry_after_s)
    if status < 300:
        return Unanswered(Reason.of(ReasonCode.RESPONSE_UNREADABLE))
    # A proxy that answers with a 5xx may have passed the request on. 408 and 409 leave open what an
    # earlier request with the same key did.
    if status >= 500 or status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}:
        return Unanswered(Reason.of(ReasonCode.STATUS_AMBIGUOUS, status=status))
    if has_key and _KEY_IS_USED in text:
        return Sent(proof, None)
    if status < 400:
        return _for_all(status, text, Remedy.MAIL_SETTINGS)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return _for_all(status, text, Remedy.MAIL_LOGIN)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return _for_all(status, text, Remedy.SHORTEN_ISSUE)
    is_about_values = status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
    if is_about_values and not _ABOUT_THE_SENDER.search(text) and _ABOUT_THE_RECIPIENT.search(text):
        return Failed(_quoted(status, text), refused=True)
    return _for_all(status, text)


def classify_status(
    status: AnymailStatus, proof: str, *, is_proof_the_id: bool = False
) -> MessageResult:
    """Classify Anymail's status of a message with one recipient."""
    states, message_id = status.status or set(), status.message_id
    if states and states <= {"queued", "sent"}:
        # Postal's ids are numbers.
        is_one = isinstance(message_id, str | int) and message_id and not is_proof_the_id
        return Sent(str(message_id) if is_one else proof, None)
    if states == {"rejected"}:
        return Suppressed(INACTIVE)
    if states == {"invalid"}:
        return Failed(_quoted(0, "invalid recipient"), refused=True)
    if states == {"failed"}:
        return Failed(_quoted(0, "failed"))
    return Unanswered(Reason.of(ReasonCode.RESPONSE_UNREADABLE))


def _for_all(status: int, text: str, remedy: Remedy = Remedy.READ_REPLY) -> RejectedForAll:
    return RejectedForAll(_quoted(status, text).with_params(remedy=remedy))


def _quoted(status: int, text: str) -> Reason:
    shown = read_text(text, MAX_TEXT_LENGTH)
    return Reason.of(ReasonCode.PROVIDER_ERROR, error_code=status, text=shown)


def _broken(error: Exception, is_late: bool) -> Reason:
    if is_late:
        return Reason.of(ReasonCode.NO_RESPONSE_IN_TIME)
    return Reason.of(ReasonCode.CONNECTION_BROKE, error=type(error).__name__)
