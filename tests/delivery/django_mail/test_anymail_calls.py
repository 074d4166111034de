"""What a call through django-anymail makes certain for each of its messages."""

import json
import re
import warnings
from base64 import b64decode
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import unquote_plus

import orjson
import pytest

from delivery.django_mail.anymail_provider import AnymailProvider
from delivery.django_mail.anymail_services import SERVICES
from delivery.provider.deadline_clock import now_s
from delivery.provider.from_settings import provider_from_settings
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    NotSent,
    NotTried,
    RejectedForAll,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent, Suppressed
from delivery.rules.reason import ReasonCode
from tests.delivery.django_mail import anymail_accounts
from tests.delivery.django_mail.smtp_calls import ATTEMPT, message
from tests.delivery.http_responses import answering, http
from tests.delivery.scripted_http_server import Conversation, Script, ScriptedServer

pytestmark = pytest.mark.process

OK = http("200 OK", b'{"id": "m-1"}')


def send(
    *messages: dict[str, Any],
    within_s: float = 20.0,
    about_to_complete: Callable[[], None] = lambda: None,
) -> CallResult:
    with closing(provider_from_settings()) as provider:
        return provider.send(
            orjson.dumps(messages),
            [one["to"] for one in messages],
            deadline_at_s=now_s() + within_s,
            about_to_complete=about_to_complete,
        )


def of_two(settings: Any, *scripts: Script, service: str = "resend") -> tuple[Any, list[bytes]]:
    """Send two messages; return their results and the requests that arrived."""
    with ScriptedServer(*scripts) as server:
        anymail_accounts.use(settings, service, server.url)
        result = send(message(1), message(2))
    return result, server.requests


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_gets_the_headers_and_names_of_the_copy(settings: Any, service: str) -> None:
    headers = ["X-Message-Id: m-1"] if service == "mailersend" else []
    status, content = anymail_accounts.acceptance(service)
    with ScriptedServer(answering(http(status, content, *headers))) as server:
        anymail_accounts.use(settings, service, server.url)
        with warnings.catch_warnings(category=Warning, action="ignore"):
            assert list(AnymailProvider.check_settings()) == []
            result = send(message(1))
    # SendGrid's answer names no message, and Brevo's answer to a repetition does not.
    own_name = f"issue.1.1@{ATTEMPT}"
    known = {"sendgrid": own_name, "brevo": own_name, "postal": "17"}.get(service, "m-1")
    assert result == AllAccepted([known], [None])
    sent = unquote_plus(server.requests[0].decode())
    if service == "amazon_ses":
        raw = json.loads(sent.partition("\r\n\r\n")[2])["Content"]["Raw"]["Data"]
        sent = b64decode(raw).decode()
    for part in ("List-Unsubscribe-Post", "/unsubscribe/t1/", "X-Homing-Copy", "issue.1.1@"):
        assert part in sent, part
    assert "issue-1" in sent
    assert "Dear reader" in sent


REFUSED_ADDRESSES = (
    ("resend", "422 Unprocessable", {"message": "Invalid `to` field. The email address needs…"}),
    ("brevo", "400 Bad Request", {"code": "invalid_parameter", "message": "not valid in to"}),
    ("mailgun", "400 Bad Request", {"message": "'to' parameter is not a valid address"}),
    ("sendgrid", "400 Bad Request", {"errors": [{"field": "personalizations.0.to.0.email"}]}),
)


@pytest.mark.parametrize(("service", "status", "content"), REFUSED_ADDRESSES)
def test_an_address_that_the_service_refuses_fails_alone(
    settings: Any, service: str, status: str, content: Any
) -> None:
    accepted = http(*anymail_accounts.acceptance(service))
    refused = http(status, json.dumps(content).encode())
    with warnings.catch_warnings(category=Warning, action="ignore"):
        result, _ = of_two(settings, answering(refused), answering(accepted), service=service)
    assert [type(one) for one in result.messages] == [Failed, Sent]
    assert result.messages[0].refused


CONCERNS_ALL = (
    ("401 Unauthorized", b'{"message": "API key is invalid"}', RejectedForAll),
    ("403 Forbidden", b'{"message": "The domain is not verified"}', RejectedForAll),
    ("422 Unprocessable", b'{"message": "The from email address is invalid"}', RejectedForAll),
    ("400 Bad Request", b'{"message": "Email address is not verified: ada"}', RejectedForAll),
    ("413 Content Too Large", b"{}", RejectedForAll),
    ("307 Temporary Redirect", b"", RejectedForAll),
    ("429 Too Many Requests", b"{}", Deferred),
    ("500 Internal Server Error", b"{}", Unanswered),
    ("502 Bad Gateway", b"<html>", Unanswered),
    ("503 Service Unavailable", b"{}", Unanswered),
    ("409 Conflict", b'{"name": "concurrent_idempotent_requests"}', Unanswered),
    ("200 OK", b"{}", Unanswered),
    ("200 OK", b"no JSON", Unanswered),
    ("204 No Content", b"", Unanswered),
)


@pytest.mark.parametrize(("status", "content", "kind"), CONCERNS_ALL)
def test_an_answer_about_more_than_the_copy_ends_the_call(
    settings: Any, status: str, content: bytes, kind: type
) -> None:
    location = "Location: http://127.0.0.1:9/elsewhere"
    result, requests = of_two(settings, answering(http(status, content, location)))
    assert [type(one) for one in result.messages] == [kind, NotTried]
    assert len(requests) == 1


def test_a_503_with_a_time_is_a_refusal(settings: Any) -> None:
    busy = http("503 Service Unavailable", b"{}", "Retry-After: 7")
    result, _ = of_two(settings, answering(busy))
    assert result.messages[0].retry_after_s == 7


def cut(conversation: Conversation) -> None:
    conversation.read_request()


def drip(conversation: Conversation) -> None:
    conversation.read_request()
    conversation.drip(OK)


def test_a_lost_answer_leaves_only_that_message_unconfirmed(settings: Any) -> None:
    result, requests = of_two(settings, cut)
    assert isinstance(result, Answered)
    assert [type(one) for one in result.messages] == [Unanswered, NotTried]
    assert len(requests) == 1


def test_a_slow_answer_ends_at_the_deadline(settings: Any) -> None:
    with ScriptedServer(drip) as server:
        anymail_accounts.use(settings, "resend", server.url)
        result = send(message(1), within_s=0.5)
    assert isinstance(result, Answered)
    assert result.messages[0] == Unanswered(result.messages[0].reason)
    assert result.messages[0].reason.code is ReasonCode.NO_RESPONSE_IN_TIME


def test_without_a_connection_nothing_was_sent(settings: Any) -> None:
    with ScriptedServer() as server:
        anymail_accounts.use(settings, "resend", server.url)
    result = send(message(1), message(2))
    assert isinstance(result, NotSent)
    assert result.reason.code is ReasonCode.NO_CONNECTION
    assert isinstance(send(message(1), within_s=-1.0), NotSent)


def test_the_worker_hears_once_that_a_message_may_be_complete(settings: Any) -> None:
    heard: list[int] = []

    def stop() -> None:
        raise InterruptedError

    with ScriptedServer(answering(OK, OK), lambda one: one.stall()) as server:
        anymail_accounts.use(settings, "resend", server.url)
        send(message(1), message(2), about_to_complete=lambda: heard.append(len(server.requests)))
        assert heard == [0]
        result = send(message(1), about_to_complete=stop)
    # The request never became complete, so it was not sent.
    assert isinstance(result, NotSent)
    assert len(server.requests) == 2


def test_amazon_is_called_once_whatever_the_operator_set(settings: Any) -> None:
    config = {"retries": {"total_max_attempts": 5, "mode": "standard"}}
    broken = http("500 Internal Server Error", b"{}")
    with ScriptedServer(answering(broken, broken)) as server:
        anymail_accounts.use(settings, "amazon_ses", server.url, config=config)
        result = send(message(1))
    assert isinstance(result, Answered)
    assert isinstance(result.messages[0], Unanswered)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("TooManyRequestsException", "429 Too Many Requests", Deferred),
        ("ThrottlingException", "400 Bad Request", Deferred),
        ("MessageRejected", "400 Bad Request", RejectedForAll),
        ("AccountSuspendedException", "400 Bad Request", RejectedForAll),
        ("InvalidClientTokenId", "403 Forbidden", RejectedForAll),
    ],
)
def test_amazons_codes(settings: Any, code: str, status: str, kind: type) -> None:
    answer = http(status, json.dumps({"message": "no"}).encode(), f"x-amzn-ErrorType: {code}")
    result, _ = of_two(settings, answering(answer), service="amazon_ses")
    assert isinstance(result.messages[0], kind)


def test_a_message_to_a_suppressed_address_is_not_sent(settings: Any) -> None:
    rejected = http("200 OK", b'[{"email": "reader1@example.net", "status": "rejected"}]')
    with ScriptedServer(answering(rejected)) as server:
        anymail_accounts.use(settings, "mandrill", server.url)
        result = send(message(1))
    assert isinstance(result, Answered)
    assert isinstance(result.messages[0], Suppressed)


def keys_of(requests: list[bytes]) -> list[str]:
    """Return the keys, which Resend gets in a header and Brevo in the message."""
    pattern = rb'(?i)idempotency-?key"?: "?([0-9a-f-]{36})'
    return [key.decode() for key in re.findall(pattern, b"\n".join(requests))]


@pytest.mark.parametrize("service", ["resend", "brevo"])
def test_each_message_and_attempt_has_one_key(settings: Any, service: str) -> None:
    accepted = http(*anymail_accounts.acceptance(service))
    again = message(1, metadata={"delivery": "issue.1.1", "attempt": "0c" * 16})
    with ScriptedServer(*[answering(accepted, accepted)] * 3) as server:
        anymail_accounts.use(settings, service, server.url)
        send(message(1), message(2))
        send(message(1), message(2))
        send(again)
    first, second, *repeated, other = keys_of(server.requests)
    assert [first, second] == repeated
    assert len({first, second, other}) == 3


def test_a_key_that_brevo_knows_proves_the_acceptance(settings: Any) -> None:
    known = http("400 Bad Request", b'{"code": "duplicate_parameter", "message": "key"}')
    with ScriptedServer(answering(known)) as server:
        anymail_accounts.use(settings, "brevo", server.url)
        result = send(message(1))
    assert result == AllAccepted([f"issue.1.1@{ATTEMPT}"], [None])
