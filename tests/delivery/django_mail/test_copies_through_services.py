"""Editions through mail services: sent once, settled by reports or by a key."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from delivery.check_settings import check_settings
from delivery.models import Alarm
from delivery.provider.attempt_id import is_of_this_provider, new_attempt_id
from delivery.queue.record_evidence import treat_as_sent
from tests.delivery.django_mail import anymail_accounts
from tests.delivery.django_mail.amazon_server import AmazonServer
from tests.delivery.django_mail.anymail_payloads import EVENTS, Mail, request
from tests.delivery.edition_factory import Newsroom, copies_of
from tests.delivery.http_responses import answering, http
from tests.delivery.scripted_http_server import Conversation, ScriptedServer

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def amazon(settings: Any) -> Iterator[AmazonServer]:
    with AmazonServer(sender="letter@example.org") as server:
        anymail_accounts.use(settings, "amazon_ses", server.params["endpoint_url"])
        settings.DELIVERY_BATCH_SIZE = 3
        settings.DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0, 900.0)
        yield server


def test_every_reader_gets_the_letter_through_amazon(amazon: AmazonServer) -> None:
    newsroom = Newsroom()
    edition = newsroom.publish(readers=7)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 7
    assert sorted(amazon.recipients) == [f"reader{number}@example.net" for number in range(7)]
    letter = amazon.accepted[0]
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert letter["Message-ID"]
    assert letter["List-Id"]
    assert set(json.loads(letter["X-Metadata"])) == {"delivery", "attempt"}
    assert {copy.evidence for copy in copies_of(edition)} == {"reply"}


def report(service: str, kind: str, mail: Mail) -> int:
    body, headers = request(service, EVENTS[service](kind, mail))
    path = f"/webhooks/{service.replace('_', '-')}/"
    content_type = headers.pop("Content-Type")
    return Client().post(path, body, content_type, secure=True, headers=headers).status_code


def test_a_report_settles_a_copy_whose_answer_was_lost(amazon: AmazonServer) -> None:
    newsroom = Newsroom()
    amazon.cut = {"reader1@example.net", "reader2@example.net"}
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "unknown", "waiting"]
    sent = json.loads(amazon.accepted[1]["X-Metadata"])
    mail = Mail(address="reader1@example.net", delivery=sent["delivery"], attempt=sent["attempt"])
    assert report("amazon_ses", "delivered", mail) == 200
    assert newsroom.outcomes(edition)[1] == "sent"
    newsroom.deliver_after(61)
    newsroom.deliver_after(100_000)
    # Nobody reports the third copy, whose answer was lost later.
    assert newsroom.outcomes(edition) == ["sent", "sent", "unknown"]
    assert treat_as_sent(edition.pk) == 1
    assert len(amazon.recipients) == 3
    assert not Alarm.objects.exists()


@pytest.mark.parametrize("service", ["resend", "brevo"])
def test_a_key_settles_a_copy_whose_answer_was_lost(settings: Any, service: str) -> None:
    """The service has accepted the message, and its first answer is lost."""
    keys: list[bytes] = []
    good = http(*anymail_accounts.acceptance(service))
    known = {
        "resend": good,
        "brevo": http("400 Bad Request", b'{"code": "duplicate_parameter"}'),
    }[service]

    def lose(conversation: Conversation) -> None:
        keys.append(conversation.read_request())

    def replay(conversation: Conversation) -> None:
        keys.append(conversation.read_request())
        conversation.write(known)

    with ScriptedServer(lose, replay) as server:
        anymail_accounts.use(settings, service, server.url)
        newsroom = Newsroom()
        edition = newsroom.publish(readers=1)
        newsroom.deliver_all()
        assert newsroom.outcomes(edition) == ["unknown"]
        # Until the first call's deadline, that call may still be in flight.
        newsroom.deliver_after(61)
        assert newsroom.outcomes(edition) == ["unknown"]
        newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent"]
    # The second request is the first one again: the same key and the same bytes.
    assert keys[0] == keys[1]
    (copy,) = copies_of(edition)
    # A report that comes later names the same acceptance.
    body = json.loads(keys[0].partition(b"\r\n\r\n")[2])
    name = "X-Metadata" if service == "resend" else "X-Mailin-custom"
    sent = json.loads(body["headers"][name])
    mail = Mail(
        address=copy.address,
        delivery=sent["delivery"],
        attempt=sent["attempt"],
        message_id="m-1",
    )
    assert report(service, "delivered", mail) == 200
    assert not Alarm.objects.exists()
    assert copies_of(edition)[0].delivered_at


def test_another_account_is_another_provider(settings: Any) -> None:
    anymail_accounts.use(settings, "resend", "http://127.0.0.1:9")
    attempt = new_attempt_id()
    assert is_of_this_provider(attempt)
    settings.ANYMAIL = settings.ANYMAIL | {"RESEND_API_KEY": "of another account"}
    assert not is_of_this_provider(attempt)
    anymail_accounts.use(settings, "brevo", "http://127.0.0.1:9")
    assert not is_of_this_provider(attempt)


def test_settings_of_services_are_checked(settings: Any) -> None:
    def found() -> list[str]:
        return [str(problem.msg) for problem in check_settings()]

    anymail_accounts.use(settings, "brevo", "http://mail.example.org")
    settings.DELIVERY_LOOKUP_AFTER_S = (800.0, 900.0)
    assert found() == [
        "An address of Brevo has no TLS, so its key is sent unencrypted.",
        "The key of a call to Brevo expires before Homing repeats it.",
    ]
    settings.ANYMAIL = {}
    assert found()[0] == "Homing cannot send through Brevo: ANYMAIL_BREVO_API_KEY is not set."
    settings.ANYMAIL_ESP = "amazon_ses"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_CONFIG_FILE", "/nowhere")
        assert found() == ["Homing cannot send through Amazon SES: You must specify a region."]


def test_a_webhook_password_is_no_part_of_the_account(settings: Any) -> None:
    anymail_accounts.use(settings, "resend", "http://127.0.0.1:9")
    before = new_attempt_id()
    settings.ANYMAIL = settings.ANYMAIL | {"WEBHOOK_SECRET": "hooks:another"}
    assert is_of_this_provider(before)


def test_a_429_uses_up_no_try(settings: Any) -> None:
    busy = http("429 Too Many Requests", b"{}", "Retry-After: 3000")
    good = http(*anymail_accounts.acceptance("resend"))
    settings.DELIVERY_MAX_ATTEMPTS = 1
    with ScriptedServer(answering(good, busy), answering(good)) as server:
        anymail_accounts.use(settings, "resend", server.url)
        newsroom = Newsroom()
        edition = newsroom.publish(readers=2)
        newsroom.deliver_all()
        newsroom.deliver_after(2900)
        assert newsroom.outcomes(edition) == ["sent", "waiting"]
        newsroom.deliver_after(200)
        assert newsroom.outcomes(edition) == ["sent", "sent"]


def test_a_repetition_that_is_refused_waits_for_a_decision(settings: Any) -> None:
    refused = http("409 Conflict", b'{"name": "invalid_idempotent_request"}')
    with ScriptedServer(lambda one: one.read_request(), answering(refused)) as server:
        anymail_accounts.use(settings, "resend", server.url)
        settings.DELIVERY_LOOKUP_AFTER_S = (130.0,)
        newsroom = Newsroom()
        edition = newsroom.publish(readers=1)
        newsroom.deliver_all()
        newsroom.deliver_after(131)
        assert newsroom.counts(edition).parked_batches == 1
        assert treat_as_sent(edition.pk) == 1
