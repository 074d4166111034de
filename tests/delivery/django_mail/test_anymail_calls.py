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

# Their answers name no message, so Anymail makes the ids.
MAKES_IDS = ("sendgrid", "unisender_go")
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
    # Brevo's answer to a repetition names no message.
    known = {"brevo": f"issue.1.1@{ATTEMPT}", "postal": "17"}.get(service, "m-1")
    assert isinstance(result, AllAccepted)
    assert result.message_ids == [known] or service in MAKES_IDS
    sent = unquote_plus(server.requests[0].decode())
    if service == "amazon_ses":
        raw = json.loads(sent.partition("\r\n\r\n")[2])["Content"]["Raw"]["Data"]
        sent = b64decode(raw).decode()
    for part in ("List-Unsubscribe-Post", "/unsubscribe/t1/", "X-Homing-Copy", "issue.1.1@"):
        assert part in sent, part
    assert "issue-1" in sent
    assert "Dear reader" in sent


BAD = {"errors": [{"field": "personalizations.0.to.0.email", "message": "bad"}]}
SUPPRESSED = {"errors": [{"code": "1902", "message": "recipient address suppressed due to…"}]}
GONE = {"failed_emails": {"reader1@example.net": "permanent_unavailable"}}
OF_ONE_READER = (
    ("resend", "422 Unprocessable", {"message": "Invalid `to` field. The address needs…"}, Failed),
    ("brevo", "400 Bad Request", {"message": "email is not valid in to"}, Failed),
    ("mailgun", "400 Bad Request", {"message": "'to' parameter is not a valid address"}, Failed),
    ("mailersend", "422 Unprocessable", {"errors": {"to.0.email": ["must be valid"]}}, Failed),
    ("sendgrid", "400 Bad Request", BAD, Failed),
    ("sparkpost", "400 Bad Request", SUPPRESSED, Suppressed),
    ("unisender_go", "400 Bad Request", GONE, Suppressed),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("service", "status", "content", "kind"), OF_ONE_READER)
def test_a_refused_address_harms_no_other_copy(
    settings: Any, service: str, status: str, content: Any, kind: type
) -> None:
    accepted = http(*anymail_accounts.acceptance(service), "X-Message-Id: m-1")
    refused = http(status, json.dumps(content).encode())
    scripts = answering(refused), answering(accepted)
    with ScriptedServer(*scripts) as server:
        anymail_accounts.use(settings, service, server.url)
        # The services of this test accept the address that their answers name.
        result = send(message(1), message(1))
    assert isinstance(result, Answered)
    assert [type(one) for one in result.messages] == [kind, Sent]
    assert kind is Suppressed or result.messages[0].refused


UNCLEAR = http("400 Bad Request", b'{"message": "Domain contains illegal character"}')


def test_an_unclear_refusal_fails_one_copy_at_most(settings: Any) -> None:
    for scripts, kinds in (
        ([answering(UNCLEAR), answering(OK)], [Failed, Sent]),
        ([answering(OK, UNCLEAR)], [Sent, Failed]),
        ([answering(UNCLEAR), answering(UNCLEAR)], [RejectedForAll, RejectedForAll]),
        ([answering(UNCLEAR), cut], [RejectedForAll, Unanswered]),
    ):
        result, _ = of_two(settings, *scripts)
        assert [type(one) for one in result.messages] == kinds
        assert not any(getattr(one, "refused", False) for one in result.messages)


CONCERNS_ALL = (
    ("401 Unauthorized", b'{"message": "API key secret-key is invalid"}', RejectedForAll),
    ("403 Forbidden", b'{"message": "The domain is not verified"}', RejectedForAll),
    ("404 Not Found", b"{}", RejectedForAll),
    ("413 Content Too Large", b"{}", RejectedForAll),
    ("307 Temporary Redirect", b"", RejectedForAll),
    ("500 Internal Server Error", b"{}", Unanswered),
    ("502 Bad Gateway", b"<html>", Unanswered),
    ("503 Service Unavailable", b"{}", Unanswered),
    ("409 Conflict", b'{"name": "concurrent_idempotent_requests"}', Unanswered),
    ("409 Conflict", b'{"name": "invalid_idempotent_request"}', RejectedForAll),
    ("200 OK", b"[" * 100_000, Unanswered),
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
    assert "secret-key" not in str(result)


def test_a_429_ends_the_call_and_keeps_its_time(settings: Any) -> None:
    busy = http("429 Too Many Requests", b"{}", "Retry-After: 7")
    result, _ = of_two(settings, answering(busy))
    assert isinstance(result, Deferred)
    assert (result.retry_after_s, result.too_fast) == (7, True)


OF_THE_ACCOUNT = (
    ("mandrill", "200 OK", [{"email": "a", "status": "rejected", "reject_reason": "unsigned"}]),
    ("mandrill", "500 Internal Server Error", {"status": "error", "name": "Invalid_Key"}),
    ("postal", "200 OK", {"status": "error", "data": {"code": "InvalidServerAPIKey"}}),
    ("mailjet", "403 Forbidden", {"Messages": [{"Status": "error", "Errors": []}]}),
)


@pytest.mark.parametrize(("service", "status", "content"), OF_THE_ACCOUNT)
def test_an_account_that_is_refused_fails_no_reader(
    settings: Any, service: str, status: str, content: Any
) -> None:
    refused = http(status, json.dumps(content).encode())
    result, requests = of_two(settings, answering(refused), service=service)
    assert [type(one) for one in result.messages] == [RejectedForAll, NotTried]
    assert len(requests) == 1


NO_ACCEPTANCE = (
    ("sendgrid", "200 OK", b"<html>"),
    ("brevo", "200 OK", b""),
    ("mailersend", "202 Accepted", b"{}"),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("service", "status", "content"), NO_ACCEPTANCE)
def test_an_answer_without_an_id_is_no_acceptance(
    settings: Any, service: str, status: str, content: bytes
) -> None:
    result, _ = of_two(settings, answering(http(status, content)), service=service)
    assert isinstance(result.messages[0], Unanswered)


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
    with ScriptedServer(answering(answer)) as server:
        anymail_accounts.use(settings, "amazon_ses", server.url)
        result = send(message(1))
    found = result.messages[0] if isinstance(result, Answered) else result
    assert isinstance(found, kind)


def test_a_message_to_a_suppressed_address_is_not_sent(settings: Any) -> None:
    rejected = http(
        "200 OK",
        b'[{"email": "reader1@example.net", "status": "rejected", "reject_reason": "spam"}]',
    )
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
