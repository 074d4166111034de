"""Classify what django-anymail says about one message.

The status of the HTTP answer decides, then its text. An answer that does not say clearly that the
message was refused leaves it unconfirmed. A refusal that is not known to concern the recipient
concerns the account, so it stops the edition and marks no reader.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import requests
from anymail.message import AnymailStatus

from delivery.django_mail.anymail_services import Service, hide_secrets
from delivery.provider.event_fields import parse_message_id
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
# Brevo's code if a call with the same key was accepted.
_KEY_IS_USED = "duplicate_parameter"
# Amazon's codes for “more slowly”, besides the status 429.
_TOO_FAST = re.compile(r"Throttl|TooManyRequests|LimitExceeded")
# Mandrill's reasons that are about the address. Its other reasons are about the account.
_MANDRILL_LISTS = frozenset({"hard-bounce", "soft-bounce", "spam", "unsub", "custom"})


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
    error: Exception, service: Service, *, is_complete: bool, is_late: bool, url: str, proof: str
) -> MessageResult:
    """Classify an error while a message was sent.

    `is_complete`: the last byte of the request may have been written. `proof` is Homing's own name
    of the copy. `has_key`: the request had an idempotency key.
    """
    answer = answer_of(error)
    if answer is not None and answer.status:
        return classify_answer(answer, service, proof)
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
    if is_late:
        return Unanswered(Reason.of(ReasonCode.NO_RESPONSE_IN_TIME))
    if isinstance(error, NETWORK_ERRORS):
        return Unanswered(Reason.of(ReasonCode.CONNECTION_BROKE, error=type(error).__name__))
    return Unanswered(Reason.of(ReasonCode.RESPONSE_UNREADABLE))


def classify_answer(answer: Answer, service: Service, proof: str) -> MessageResult:
    """Classify an answer that is no acceptance."""
    status, text = answer.status, answer.text
    if service.for_all and re.search(service.for_all, text):
        return _for_all(status, text)
    if status == HTTPStatus.TOO_MANY_REQUESTS or (status < 500 and _TOO_FAST.match(text)):
        reason = Reason.of(ReasonCode.TOO_FAST)
        return Deferred(reason, answer.retry_after_s, too_fast=True)
    if status < 300:
        return Unanswered(Reason.of(ReasonCode.RESPONSE_UNREADABLE))
    # A proxy that answers with a 5xx may have passed the request on. 408 and 409 leave open what an
    # earlier request with the same key did.
    if status >= 500 or status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}:
        return Unanswered(Reason.of(ReasonCode.STATUS_AMBIGUOUS, status=status))
    if service.key_header and _KEY_IS_USED in text:
        return Sent(proof, None)
    if service.bad_address and re.search(service.bad_address, text):
        return Failed(_quoted(status, text), refused=True)
    if service.on_its_list and re.search(service.on_its_list, text):
        return Suppressed(INACTIVE)
    if status < 400:
        return _for_all(status, text, Remedy.MAIL_SETTINGS)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return _for_all(status, text, Remedy.MAIL_LOGIN)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return _for_all(status, text, Remedy.SHORTEN_ISSUE)
    return _for_all(status, text)


def may_concern_one(result: MessageResult) -> bool:
    """Whether a refusal does not say if it concerns this message or all messages."""
    return isinstance(result, RejectedForAll) and result.reason.params.get("error_code") in {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }


def classify_status(
    status: AnymailStatus, http_status: int, text: str, service: Service, proof: str
) -> MessageResult:
    """Classify Anymail's status of a message, and the answer behind it."""
    if http_status >= 300:
        # Anymail reads the refusals of some services as the status of a message.
        return classify_answer(Answer(http_status, text, None), service, proof)
    states, found = status.status or set(), status.message_id
    # Postal's ids are numbers.
    message_id = parse_message_id(str(found)) if found else None
    is_accepted = states and states <= {"queued", "sent"} and found
    if is_accepted and http_status == (service.accepted_status or http_status):
        # An id that does not fit the table has no use; reports with it name no copy.
        return Sent(proof if service.is_proof_the_id else message_id or proof, None)
    if states == {"rejected"}:
        reason = re.search(r'"reject_reason"\s*:\s*"([a-z-]*)"', text)
        if reason is not None and reason[1] not in _MANDRILL_LISTS:
            return _for_all(http_status, text)
        return Suppressed(INACTIVE)
    if states == {"invalid"}:
        return Failed(_quoted(http_status, "invalid recipient"), refused=True)
    return Unanswered(Reason.of(ReasonCode.RESPONSE_UNREADABLE))


def _for_all(status: int, text: str, remedy: Remedy = Remedy.READ_REPLY) -> RejectedForAll:
    return RejectedForAll(_quoted(status, text).with_params(remedy=remedy))


def _quoted(status: int, text: str) -> Reason:
    shown = read_text(hide_secrets(text), MAX_TEXT_LENGTH)
    return Reason.of(ReasonCode.PROVIDER_ERROR, error_code=status, text=shown)
