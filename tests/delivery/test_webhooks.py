"""Events are kept before anything else, applied once in effect, and never lost by our answer."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from http.client import HTTPConnection

import orjson
import pytest
from django.db import connection, transaction
from django.test import Client

from delivery import chores
from delivery.models import Alarm, Attempt, Delivery, Edition, Evidence, ProviderEvent
from delivery.queue import provider_event
from delivery.queue.split import lock_edition
from delivery.webhook import LONGEST_BODY
from postmark_sandbox.server import SandboxServer
from tests.delivery.beside import Beside, at_once
from tests.delivery.hands_on_an_edition import unheard
from tests.delivery.newsroom import Newsroom
from tests.delivery.webhooks import PASSWORD, PATH, USER, WebSite, credentials, event, key_of, post


@pytest.fixture(autouse=True)
def credentials_are_set(settings: object) -> None:
    settings.POSTMARK_WEBHOOK_USER = USER  # type: ignore[attr-defined]
    settings.POSTMARK_WEBHOOK_PASSWORD = PASSWORD  # type: ignore[attr-defined]


@pytest.fixture
def in_doubt(newsroom: Newsroom, provider: SandboxServer) -> Edition:
    edition = unheard(newsroom, provider)
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    return edition


def recipients_of(edition: Edition) -> list[int]:
    rows = Delivery.objects.filter(issue=edition.issue_id, version=edition.version)
    return list(rows.order_by("recipient").values_list("recipient", flat=True))


def applied() -> list[bool]:
    return [row.applied_at is not None for row in ProviderEvent.objects.order_by("id")]


# --- Who may come in ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic",
        "Basic !!!",
        "Bearer " + credentials().removeprefix("Basic "),
        credentials(password="wrong"),
        credentials(user="wrong"),
        credentials(user=USER, password=PASSWORD + "x"),
        credentials(user=USER, password=""),
        credentials(user="Pöstmärk"),
    ],
)
def test_who_does_not_know_the_password_is_refused_and_nothing_is_kept(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture, authorization: str
) -> None:
    assert post(b"{}", Authorization=authorization) == 401
    assert not ProviderEvent.objects.exists()
    # The event is lost, so the mistake is told; the password is not.
    assert "is lost" in caplog.text
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(("user", "password"), [("", ""), (USER, ""), ("", PASSWORD)])
def test_without_both_credentials_webhooks_are_refused_in_a_way_that_loses_none(
    newsroom: Newsroom, settings: object, user: str, password: str
) -> None:
    settings.POSTMARK_WEBHOOK_USER = user  # type: ignore[attr-defined]
    settings.POSTMARK_WEBHOOK_PASSWORD = password  # type: ignore[attr-defined]
    # Postmark tries again after a 503; after a 401 or 403 it would never come back.
    assert post(b"{}", Authorization=credentials(user, password)) == 503
    assert not ProviderEvent.objects.exists()


def test_a_post_needs_no_csrf_token_and_nothing_but_a_post_is_taken(newsroom: Newsroom) -> None:
    client = Client(enforce_csrf_checks=True)
    assert post(b"{}", client=client) == 200
    # An address without its last slash is no redirect: Postmark would not follow it.
    assert post(b"{}", path=PATH.rstrip("/")) == 200
    for method in (client.get, client.put, client.delete, client.options):
        answer = method(PATH, secure=True, headers={"Authorization": credentials()})
        assert answer.status_code == 405


# --- What is kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", ""),
        (b"\xff\xfe\x00", ""),
        (b"[" * 100_000, ""),
        (b'{"RecordType": null}', ""),
        (b'{"RecordType": "Bad\\u0000Type"}', ""),
        (b'{"RecordType": "' + b"x" * 500 + b'"}', "x" * 40),
        (b'{"RecordType": "NewInTwentyThirty", "MessageID": {}}', "NewInTwentyThirty"),
    ],
)
def test_what_is_not_understood_is_kept_as_it_came_and_answered_200(
    newsroom: Newsroom, body: bytes, kind: str
) -> None:
    assert post(body) == 200
    kept = ProviderEvent.objects.get()
    assert (bytes(kept.body), kept.kind) == (body, kind)
    assert kept.applied_at is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"MessageID": None},
        {"MessageID": "x" * 101},
        {"MessageID": "nul\x00"},
        {"Metadata": None},
        {"Metadata": {"delivery": 1}},
        {"Metadata": {"delivery": "0" * 32 + ".1.1"}},
        {"Metadata": {"delivery": "0" * 32 + ".999999999.999999999999999999"}},
        {"RecordType": "Inbound"},
    ],
)
def test_what_says_nothing_about_our_mail_is_kept_and_changes_nothing(
    in_doubt: Edition, newsroom: Newsroom, changed: dict[str, object]
) -> None:
    key = key_of(in_doubt, recipients_of(in_doubt)[0])
    assert post(event(key, "m-1") | changed) == 200
    assert applied() == [True]
    assert not Evidence.objects.exists()
    assert newsroom.outcomes(in_doubt) == ["unknown"] * 3


def test_a_body_larger_than_any_event_is_refused(newsroom: Newsroom) -> None:
    assert post(b" " * (LONGEST_BODY + 1)) == 413
    assert not ProviderEvent.objects.exists()
    assert post(b" " * LONGEST_BODY) == 200


# --- What is made of it ---------------------------------------------------------------------------


def test_whatever_befell_a_message_proves_that_it_was_accepted(
    in_doubt: Edition, newsroom: Newsroom
) -> None:
    one, *_ = recipients_of(in_doubt)
    (attempt,) = newsroom.attempts(in_doubt)
    assert post(event(key_of(in_doubt, one), "m-1", record_type="Bounce", attempt=attempt.pk))
    assert newsroom.outcomes(in_doubt) == ["sent", "unknown", "unknown"]
    row = Delivery.objects.get(recipient=one)
    assert (row.provider_message_id, row.evidence) == ("m-1", "webhook")
    evidence = Evidence.objects.get()
    assert (evidence.attempt, evidence.accepted_at) == (attempt.pk, row.sent_at)
    assert row.sent_at
    assert row.sent_at.isoformat().startswith("2024-05-04T1")


def test_doubt_that_a_webhook_ends_is_not_asked_about_and_not_sent_again(
    in_doubt: Edition, newsroom: Newsroom, provider: SandboxServer
) -> None:
    for recipient in recipients_of(in_doubt):
        post(event(key_of(in_doubt, recipient), f"m-{recipient}"))
    calls = provider.sandbox.summary()["calls"]["total"]
    assert newsroom.state(in_doubt) == "succeeded"
    newsroom.deliver_after(10_000)
    assert provider.sandbox.summary()["calls"]["total"] == calls


def test_the_event_of_a_copy_that_is_settled_already_writes_nothing_more(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=1)
    newsroom.deliver_all()
    row = Delivery.objects.get(issue=edition.issue_id)
    # Not even the edition's lock is asked for, which somebody else holds here.
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        body = event(key_of(edition, row.recipient_id), row.provider_message_id)
        assert Beside(lambda: post(body)).end() == 200
    assert applied() == [True]
    assert not Evidence.objects.exists()


# --- Again, at once, in any order -----------------------------------------------------------------


def test_the_same_event_again_is_the_same_event(in_doubt: Edition, newsroom: Newsroom) -> None:
    body = event(key_of(in_doubt, recipients_of(in_doubt)[0]), "m-1")
    assert [post(body) for _ in range(3)] == [200] * 3
    assert applied() == [True]
    assert Evidence.objects.count() == 1
    assert newsroom.outcomes(in_doubt) == ["sent", "unknown", "unknown"]


def test_ten_that_post_the_same_event_at_once_are_one_event(
    in_doubt: Edition, newsroom: Newsroom
) -> None:
    body = event(key_of(in_doubt, recipients_of(in_doubt)[0]), "m-1")
    assert at_once(10, lambda: post(body)) == [200] * 10
    assert applied() == [True]
    assert Evidence.objects.count() == 1
    assert newsroom.books(in_doubt).sent == 1


# --- First kept, then applied ---------------------------------------------------------------------


def test_what_was_kept_and_not_applied_is_applied_by_a_worker(
    in_doubt: Edition, newsroom: Newsroom
) -> None:
    body = orjson.dumps(event(key_of(in_doubt, recipients_of(in_doubt)[0]), "m-1"))
    # As a web process leaves it that is killed in between.
    provider_event.keep(body)
    assert newsroom.outcomes(in_doubt) == ["unknown"] * 3
    chores.do_all()
    assert applied() == [True]
    assert newsroom.outcomes(in_doubt) == ["sent", "unknown", "unknown"]


def test_an_event_that_is_being_applied_is_left_to_whoever_applies_it(
    in_doubt: Edition, newsroom: Newsroom
) -> None:
    kept = provider_event.keep(b"{}")
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT FROM provider_event WHERE id = %s FOR UPDATE", [kept])
            assert provider_event.apply_pending() == 0
        other.rollback()
    finally:
        other.close()

    assert provider_event.apply_pending() == 1


def test_an_event_that_cannot_be_applied_holds_up_no_other_and_is_set_aside(
    in_doubt: Edition, newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    one, two, _ = recipients_of(in_doubt)
    # Nothing in the application is known to do this; a broken table does.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE evidence ADD CHECK (provider_message_id <> 'poison')")
    try:
        poison = event(key_of(in_doubt, one), "poison", Recipient="private@example.net")
        assert post(poison) == 200
        for number in range(10):
            assert post(event(key_of(in_doubt, two), "m-2", ID=number)) == 200
            chores.do_all()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(
                "ALTER TABLE evidence DROP CONSTRAINT evidence_provider_message_id_check"
            )

    assert applied() == [False] + [True] * 10
    assert ProviderEvent.objects.order_by("id")[0].failures == provider_event.TRIES
    assert newsroom.outcomes(in_doubt) == ["unknown", "sent", "unknown"]
    assert caplog.text.count("it is set aside") == 1
    assert "private@example.net" not in caplog.text
    # Put right, and told to try again.
    ProviderEvent.objects.update(failures=0)
    chores.do_all()
    assert newsroom.outcomes(in_doubt) == ["sent", "sent", "unknown"]


def test_who_waits_too_long_for_a_lock_leaves_the_event_to_a_worker(
    in_doubt: Edition, newsroom: Newsroom
) -> None:
    body = event(key_of(in_doubt, recipients_of(in_doubt)[0]), "m-1")
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, in_doubt.pk)
        assert Beside(lambda: post(body)).end() == 200
        assert applied() == [False]
    chores.do_all()
    assert applied() == [True]
    assert newsroom.outcomes(in_doubt) == ["sent", "unknown", "unknown"]


# --- Without a database ---------------------------------------------------------------------------


def test_a_site_whose_database_is_down_asks_postmark_to_come_again(newsroom: Newsroom) -> None:
    connection.close()
    with pytest.MonkeyPatch.context() as patch:
        # Nothing answers at the discard port.
        patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        patch.setitem(connection.settings_dict, "PORT", "9")
        assert post(b"{}") == 503


# --- The whole way --------------------------------------------------------------------------------


@pytest.fixture
def site(transactional_db: None, settings: object) -> Iterator[WebSite]:
    """The site as Postmark reaches it, without TLS."""
    settings.SECURE_SSL_REDIRECT = False  # type: ignore[attr-defined]
    with WebSite() as site:
        yield site


def test_webhooks_of_a_real_provider_settle_a_call_whose_answer_was_lost(
    newsroom: Newsroom, site: WebSite, settings: object
) -> None:
    with SandboxServer(webhook_url=site.webhook_url) as provider:
        settings.POSTMARK_BASE_URL = provider.url  # type: ignore[attr-defined]
        settings.POSTMARK_SERVER_TOKEN = "sandbox"  # type: ignore[attr-defined]
        provider.sandbox.set_fault("accept_then_close", calls=1)
        edition = newsroom.publish(readers=20)
        newsroom.deliver_all()
        _wait_for_the_webhooks(provider)

        # Some came while the call was in the air; they are heeded when it is settled.
        assert newsroom.outcomes(edition) == ["sent"] * 20
        assert newsroom.state(edition) == "succeeded"
        assert provider.sandbox.summary()["accepted"] == 20
        outbox = provider.sandbox.outbox
        for row in Delivery.objects.filter(issue=edition.issue_id):
            (number,) = outbox.with_metadata("delivery", key_of(edition, row.recipient_id))
            assert row.provider_message_id == outbox.id_of(number)
    assert Attempt.objects.get(edition=edition).accepted == 20
    assert not Alarm.objects.exists()


def _wait_for_the_webhooks(provider: SandboxServer) -> None:
    told = threading.Event()
    for _ in range(600):
        counts = provider.sandbox.webhooks.counts()
        if counts["idle"]:
            break
        told.wait(0.05)
    assert (counts["idle"], counts["lost"], counts["retried"]) == (True, 0, 0)


def test_a_body_that_breaks_off_is_not_kept_and_may_come_again(
    newsroom: Newsroom, site: WebSite
) -> None:
    line = HTTPConnection("127.0.0.1", site.port, timeout=60)
    line.putrequest("POST", PATH)
    line.putheader("Authorization", credentials())
    line.putheader("Content-Length", "1000")
    line.endheaders(b'{"RecordType": "Delivery"')
    assert line.sock is not None
    line.sock.shutdown(1)
    answer = line.getresponse()
    answer.read()
    line.close()

    assert answer.status == 408
    assert not ProviderEvent.objects.exists()


def test_a_body_of_untold_length_is_not_taken_for_an_empty_one(
    newsroom: Newsroom, site: WebSite
) -> None:
    line = HTTPConnection("127.0.0.1", site.port, timeout=60)
    line.request("POST", PATH, iter([b"{}"]), {"Authorization": credentials()}, encode_chunked=True)
    answer = line.getresponse()
    answer.read()
    line.close()
    assert answer.status == 503
    assert not ProviderEvent.objects.exists()


@pytest.mark.parametrize(
    ("length", "status", "kept"),
    [("9" * 5000, 413, 0), ("0" * 5000 + "9" * 30, 413, 0), ("0" * 50 + "2", 200, 1)],
)
def test_a_length_of_thousands_of_digits_is_too_large_and_nothing_is_read(
    newsroom: Newsroom, length: str, status: int, kept: int
) -> None:
    assert post(b"{}", length=length) == status
    assert ProviderEvent.objects.count() == kept


def test_a_time_that_is_still_to_come_is_when_the_event_was_seen(
    in_doubt: Edition, newsroom: Newsroom
) -> None:
    one, *_ = recipients_of(in_doubt)
    post(event(key_of(in_doubt, one), "m-1", DeliveredAt="2999-01-01T00:00:00Z"))
    row = Delivery.objects.get(issue=in_doubt.issue_id, recipient=one)
    assert row.sent_at == ProviderEvent.objects.get().received_at


def test_an_attempt_that_no_uuid_spells_is_left_out(in_doubt: Edition, newsroom: Newsroom) -> None:
    one, *_ = recipients_of(in_doubt)
    body = event(key_of(in_doubt, one), "m-1", attempt=uuid.uuid4())
    body["Metadata"]["attempt"] = "no uuid"
    assert post(body) == 200
    assert Evidence.objects.get().attempt is None
    assert newsroom.outcomes(in_doubt)[0] == "sent"
