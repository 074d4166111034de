"""Every page while the database is away: 503, come again; and what is another fault stays one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from newsletter_site.come_again import RETRY_AFTER_S
from newsletter_site.database_away import is_away
from newsletter_site.tokens.secret import token_of
from subscribers.unsubscribe_token import token_for
from tests.delivery.newsroom import Newsroom
from tests.faults.own_server import OwnServer
from tests.faults.waiting_for import eventually

# Well formed, and nobody's: whether it is anybody's only the database knows.
TOKEN = token_of("a" * 43)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def here(server: OwnServer, database: str) -> Iterator[str]:
    with server.as_djangos_own(server.url(database)):
        yield database


def visitor() -> Client:
    return Client(raise_request_exception=False)


def says_come_again(answer: HttpResponse) -> bool:
    assert answer.status_code == 503, (answer.status_code, answer.content[:300])
    assert answer["Retry-After"] == str(RETRY_AFTER_S)
    assert answer["Cache-Control"] == "no-store"
    assert not answer.cookies
    return True


def test_a_page_is_in_the_look_and_says_that_nothing_is_lost(server: OwnServer, here: str) -> None:
    with server.away("fast"):
        answer = visitor().get("/", secure=True)
        assert says_come_again(answer)
        page = answer.content.decode()
        assert "<h1>Back in a moment</h1>" in page
        assert "homing.css" in page
        assert "Nothing is lost" in page
        assert "Content-Security-Policy" in answer
    assert visitor().get("/", secure=True).status_code == 200


def test_whoever_is_signed_in_stays_so(server: OwnServer, here: str) -> None:
    author = get_user_model().objects.create_superuser(username="author")
    client = visitor()
    client.force_login(author)
    with server.away("immediate"):
        assert says_come_again(client.get("/admin/newsletters/issues/", secure=True))
    assert client.get("/admin/newsletters/issues/", secure=True).status_code == 200


def test_one_click_unsubscribing_is_told_to_come_again_and_then_works(
    server: OwnServer, here: str
) -> None:
    (reader,) = Newsroom().confirm(1)
    path = f"/unsubscribe/{token_for(reader.pk)}/"
    one_click = {"List-Unsubscribe": "One-Click"}
    with server.away("fast"):
        assert says_come_again(visitor().post(path, one_click, secure=True))
    assert visitor().post(path, one_click, secure=True).status_code == 200
    reader.refresh_from_db()
    assert reader.state == "unsubscribed"


def test_a_form_that_was_posted_says_how_it_is_posted_again(server: OwnServer, here: str) -> None:
    with server.away("fast"):
        answer = visitor().post("/subscriptions/", {"email": "ada@example.org"}, secure=True)
        assert says_come_again(answer)
        assert "reload this page to press again" in answer.content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/admin/newsletters/00000000-0000-4000-8000-000000000000/progress.json",
        "/api/v1/issues/",
    ],
)
def test_a_program_is_answered_in_json(server: OwnServer, here: str, path: str) -> None:
    client = visitor()
    client.force_login(get_user_model().objects.create_superuser(username="author"))
    with server.away("fast"):
        answer = client.get(path, headers={"authorization": f"Bearer {TOKEN}"}, secure=True)
    assert says_come_again(answer)
    assert "json" in answer["Content-Type"]
    json.loads(answer.content)


def test_a_session_that_is_ended_in_the_middle_of_a_page_is_the_same(
    server: OwnServer, here: str
) -> None:
    answers: list[HttpResponse] = []

    def visit() -> None:
        answers.append(visitor().get("/", secure=True))
        connection.close()

    with psycopg.connect(server.url(here)) as other, server.admin() as admin:
        other.execute("LOCK TABLE newsletter IN ACCESS EXCLUSIVE MODE")
        thread = threading.Thread(target=visit)
        thread.start()

        def was_ended() -> bool:
            return bool(
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = %s AND wait_event_type = 'Lock'",
                    [here],
                ).fetchall()
            )

        eventually(was_ended, "the page waits for the lock")
        thread.join(60)
    assert says_come_again(answers[0])


def test_a_database_that_takes_no_writes_is_away_for_whoever_writes(
    server: OwnServer, here: str
) -> None:
    connection.close()
    with server.admin() as admin:
        admin.execute(f"ALTER DATABASE {here} SET default_transaction_read_only = on")
    assert visitor().get("/", secure=True).status_code == 200
    posted = visitor().post("/subscriptions/", {"email": "ada@example.org"}, secure=True)
    connection.close()
    assert says_come_again(posted)


def test_a_statement_that_took_too_long_stays_a_fault(server: OwnServer, here: str) -> None:
    connection.close()
    with server.admin() as admin:
        admin.execute(f"ALTER DATABASE {here} SET statement_timeout = '100ms'")
    with psycopg.connect(server.url(here), options="-c statement_timeout=0") as other:
        other.execute("LOCK TABLE newsletter IN ACCESS EXCLUSIVE MODE")
        answer = visitor().get("/", secure=True)
        connection.close()
    assert answer.status_code == 500


@pytest.mark.parametrize(
    ("fault", "away"),
    [
        (psycopg.errors.TooManyConnections("x"), True),
        (psycopg.errors.AdminShutdown("x"), True),
        (psycopg.errors.CannotConnectNow("x"), True),
        (psycopg.errors.ReadOnlySqlTransaction("x"), True),
        (psycopg.errors.ProtocolViolation("x"), True),  # PgBouncer, which reaches no server
        (psycopg.OperationalError("connection refused"), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (psycopg.errors.QueryCanceled("x"), False),
        (psycopg.errors.DeadlockDetected("x"), False),
        (psycopg.errors.DiskFull("x"), False),
        (psycopg.errors.UniqueViolation("x"), False),
        (psycopg.errors.UndefinedTable("x"), False),
        (psycopg.ProgrammingError("x"), False),
        (ConnectionRefusedError("x"), False),  # Postmark's, or any other server's
    ],
    ids=lambda value: type(value).__name__,
)
def test_which_faults_mean_that_the_database_is_away(fault: Any, away: bool) -> None:
    assert is_away(fault) is away
    wrapped = RuntimeError("a page broke")
    wrapped.__cause__ = fault
    assert is_away(wrapped) is away


def test_a_fault_that_follows_an_outage_that_was_dealt_with_is_a_fault() -> None:
    def page() -> None:
        try:
            raise psycopg.OperationalError("connection refused")
        except psycopg.OperationalError:
            raise RuntimeError("a page broke") from None

    with pytest.raises(RuntimeError) as later:
        page()
    assert not is_away(later.value)
