"""Events are stored before the answer, and applied once even if repeated."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection

import orjson
import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client

from delivery.feedback import event_inbox
from delivery.feedback.webhook_view import MAX_BODY_BYTES
from delivery.models import Alarm, Attempt, Delivery, Edition, Evidence, ProviderEvent
from delivery.monitoring.database_fault import fault_of_web_process
from delivery.queue.short_transaction import lock_edition
from postmark_sandbox.server import SandboxServer
from tests.delivery.edition_factory import Newsroom
from tests.delivery.webhook_events import (
    PASSWORD,
    PATH,
    USER,
    WebSite,
    credentials,
    event,
    key_of,
    post,
)
from tests.delivery.worker_steps import publish_unanswered
from tests.faults.wait_until import eventually
from tests.publishing.second_connection import PATIENCE_S, at_once, beside


@pytest.fixture
def in_doubt(newsroom: Newsroom) -> Edition:
    edition = publish_unanswered(newsroom)
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    return edition


def applied() -> list[bool]:
    return [row.applied_at is not None for row in ProviderEvent.objects.order_by("id")]


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
def test_wrong_password_is_refused_and_stores_no_event(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture, authorization: str
) -> None:
    assert post(b"{}", Authorization=authorization) == 401
    assert not ProviderEvent.objects.exists()
    # The event is lost, so the log must name the mistake, but not the password.
    assert "is lost" in caplog.text
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(("user", "password"), [("", ""), (USER, ""), ("", PASSWORD)])
def test_missing_credentials_answer_503_so_postmark_retries(
    newsroom: Newsroom, settings: object, user: str, password: str
) -> None:
    settings.POSTMARK_WEBHOOK_USER = user  # type: ignore[attr-defined]
    settings.POSTMARK_WEBHOOK_PASSWORD = password  # type: ignore[attr-defined]
    # Postmark retries after a 503, but not after a 401 or 403.
    assert post(b"{}", Authorization=credentials(user, password)) == 503
    assert not ProviderEvent.objects.exists()


def test_a_post_needs_no_csrf_token_and_no_slash(newsroom: Newsroom) -> None:
    client = Client(enforce_csrf_checks=True)
    assert post(b"{}", client=client) == 200
    # A URL without its last slash must not redirect, because Postmark would not follow.
    assert post(b"{}", path=PATH.rstrip("/")) == 200
    for method in (client.put, client.delete, client.options):
        answer = method(PATH, secure=True, headers={"Authorization": credentials()})
        assert answer.status_code == 405


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", ""),
        (b"\xff\xfe\x00", ""),
        (b"[" * 100_000, ""),
        (b"[]", ""),
        (b"null", ""),
        (b'{"RecordType": null}', ""),
        (b'{"RecordType": "Bad\\u0000Type"}', ""),
        (b'{"RecordType": "' + b"x" * 500 + b'"}', "x" * 40),
        (b'{"RecordType": "NewInTwentyThirty", "MessageID": {}}', "NewInTwentyThirty"),
    ],
)
def test_unreadable_event_is_stored(newsroom: Newsroom, body: bytes, kind: str) -> None:
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
def test_unrelated_event_is_stored_and_changes_no_delivery(
    in_doubt: Edition, newsroom: Newsroom, changed: dict[str, object]
) -> None:
    key = key_of(in_doubt, newsroom.recipients(in_doubt)[0])
    assert post(event(key, "m-1") | changed) == 200
    assert applied() == [True]
    assert not Evidence.objects.exists()
    assert newsroom.outcomes(in_doubt) == ["unknown"] * 3


def test_a_body_larger_than_any_event_is_refused(newsroom: Newsroom) -> None:
    assert post(b" " * (MAX_BODY_BYTES + 1)) == 413
    assert not ProviderEvent.objects.exists()
    assert post(b" " * MAX_BODY_BYTES) == 200


def test_a_bounce_proves_that_a_copy_was_accepted(in_doubt: Edition, newsroom: Newsroom) -> None:
    one, *_ = newsroom.copies(in_doubt)
    (attempt,) = newsroom.attempts(in_doubt)
    key = key_of(in_doubt, one.recipient_id)
    assert post(event(key, "m-1", record_type="Bounce", attempt=attempt.pk)) == 200
    assert newsroom.outcomes(in_doubt) == ["sent", "unknown", "unknown"]
    one.refresh_from_db()
    assert (one.provider_message_id, one.evidence) == ("m-1", "webhook")
    assert one.sent_at == datetime(2024, 5, 4, 14, 15, 31, tzinfo=UTC)
    evidence = Evidence.objects.get()
    assert (evidence.attempt, evidence.accepted_at) == (attempt.pk, one.sent_at)


def test_the_event_of_a_settled_copy_writes_nothing_more(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    newsroom.deliver_all()
    row = Delivery.objects.get(issue=edition.issue_id)
    # The event does not need the edition's lock, which another session holds here.
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        body = event(key_of(edition, row.recipient_id), row.provider_message_id)
        assert beside(lambda: post(body)).result(PATIENCE_S) == 200
    assert applied() == [True]
    assert not Evidence.objects.exists()


def test_a_repeated_or_concurrent_event_counts_once(in_doubt: Edition, newsroom: Newsroom) -> None:
    for message, recipient in enumerate(newsroom.recipients(in_doubt)[:2]):
        body = event(key_of(in_doubt, recipient), f"m-{message}")
        if message:
            assert [post(body) for _ in range(3)] == [200] * 3
        else:
            assert at_once(*[lambda body=body: post(body)] * 10) == [200] * 10
    assert applied() == [True] * 2
    assert Evidence.objects.count() == 2
    assert newsroom.outcomes(in_doubt) == ["sent", "sent", "unknown"]
    assert newsroom.counts(in_doubt).sent == 2


def test_worker_applies_stored_events(in_doubt: Edition, newsroom: Newsroom) -> None:
    body = orjson.dumps(event(key_of(in_doubt, newsroom.recipients(in_doubt)[0]), "m-1"))
    # The event is in the state that a killed web process leaves.
    event_inbox.store(body)
    assert newsroom.outcomes(in_doubt) == ["unknown"] * 3
    event_inbox.apply_pending()
    assert applied() == [True]
    assert newsroom.outcomes(in_doubt) == ["sent", "unknown", "unknown"]


def test_event_being_applied_is_skipped(in_doubt: Edition, newsroom: Newsroom) -> None:
    kept = event_inbox.store(b"{}")
    assert kept is not None
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT FROM provider_event WHERE id = %s FOR UPDATE", [kept])
            assert not event_inbox.apply(kept)
        other.rollback()
    finally:
        other.close()

    assert event_inbox.apply_pending() == 1


def test_failing_event_is_quarantined_without_blocking_others(
    in_doubt: Edition, newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    one, two, _ = newsroom.recipients(in_doubt)
    # The test breaks a table, because no known fault of the application makes an event fail.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE evidence ADD CHECK (provider_message_id <> 'poison')")
    try:
        poison = event(key_of(in_doubt, one), "poison")
        assert post(poison) == 200
        for number in range(10):
            assert post(event(key_of(in_doubt, two), "m-2", ID=number)) == 200
            event_inbox.apply_pending()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(
                "ALTER TABLE evidence DROP CONSTRAINT evidence_provider_message_id_check"
            )

    assert applied() == [False] + [True] * 10
    assert ProviderEvent.objects.order_by("id")[0].failures == event_inbox.MAX_FAILURES
    assert newsroom.outcomes(in_doubt) == ["unknown", "sent", "unknown"]
    assert caplog.text.count("it waits for an operator") == 1
    assert poison["Recipient"] not in caplog.text
    # The fault is fixed, and the event is queued again.
    ProviderEvent.objects.update(failures=0)
    event_inbox.apply_pending()
    assert newsroom.outcomes(in_doubt) == ["sent", "sent", "unknown"]


def test_worker_applies_an_event_that_waited_for_a_lock(
    in_doubt: Edition, newsroom: Newsroom
) -> None:
    body = event(key_of(in_doubt, newsroom.recipients(in_doubt)[0]), "m-1")
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, in_doubt.pk)
        assert beside(lambda: post(body)).result(PATIENCE_S) == 200
        assert applied() == [False]
    event_inbox.apply_pending()
    assert applied() == [True]
    assert newsroom.outcomes(in_doubt) == ["sent", "unknown", "unknown"]


def test_webhook_answers_503_while_the_database_is_down(newsroom: Newsroom) -> None:
    connection.close()
    with pytest.MonkeyPatch.context() as patch:
        # Lead the connection to port 9, where no program answers.
        patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        patch.setitem(connection.settings_dict, "PORT", "9")
        assert post(b"{}") == 503


def test_a_known_fault_is_not_logged_for_each_webhook(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    error = OperationalError("the connection is lost")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connection.settings_dict, "PORT", "9")
        connection.close()
        assert fault_of_web_process.explains(error, "metrics", time.monotonic())
        assert post(b"{}") == 503
    assert "a webhook could not be stored" not in caplog.text
    fault_of_web_process.succeeded("metrics")
    assert fault_of_web_process.problem() is None


@pytest.fixture
def site(transactional_db: None, settings: object) -> Iterator[WebSite]:
    """Serve the site as Postmark reaches it, without TLS."""
    settings.SECURE_SSL_REDIRECT = False  # type: ignore[attr-defined]
    with WebSite() as site:
        yield site


def test_webhooks_settle_a_lost_answer(newsroom: Newsroom, site: WebSite, settings: object) -> None:
    with SandboxServer(webhook_url=site.webhook_url) as provider:
        settings.POSTMARK_BASE_URL = provider.url  # type: ignore[attr-defined]
        settings.POSTMARK_SERVER_TOKEN = "sandbox"  # type: ignore[attr-defined]
        provider.sandbox.set_fault("accept_then_close", calls=1)
        edition = newsroom.publish(readers=20)
        newsroom.deliver_all()
        _wait_for_the_webhooks(provider)

        # Some events arrived during the call and are applied when the call is settled.
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
    webhooks = provider.sandbox.webhooks
    eventually(lambda: webhooks.counts()["idle"], "all webhooks were sent")
    assert (webhooks.counts()["lost"], webhooks.counts()["retried"]) == (0, 0)


@contextmanager
def line_to(site: WebSite) -> Iterator[HTTPConnection]:
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=60)) as line:
        yield line
    assert not ProviderEvent.objects.exists()


def test_body_without_content_length_is_refused(newsroom: Newsroom, site: WebSite) -> None:
    authorization = {"Authorization": credentials()}
    with line_to(site) as line:
        line.request("POST", PATH, iter([b"{}"]), authorization, encode_chunked=True)
        assert line.getresponse().status == 503


@pytest.mark.parametrize(
    ("length", "status", "kept"),
    [("9" * 5000, 413, 0), ("0" * 5000 + "9" * 30, 413, 0), ("0" * 50 + "2", 200, 1)],
)
def test_huge_content_length_is_refused_unread(
    newsroom: Newsroom, length: str, status: int, kept: int
) -> None:
    assert post(b"{}", length=length) == status
    assert ProviderEvent.objects.count() == kept


def test_future_times_and_odd_attempts_are_left_out(in_doubt: Edition, newsroom: Newsroom) -> None:
    one, *_ = newsroom.copies(in_doubt)
    body = event(key_of(in_doubt, one.recipient_id), "m-1", DeliveredAt="2999-01-01T00:00:00Z")
    body["Metadata"]["attempt"] = "no uuid"
    assert post(body) == 200
    one.refresh_from_db()
    assert (one.outcome, one.sent_at) == ("sent", ProviderEvent.objects.get().received_at)
    assert Evidence.objects.get().attempt is None
