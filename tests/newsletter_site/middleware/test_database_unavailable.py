"""Errors that mean an unavailable database, and queries with a time limit."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection
from django.http import HttpResponse
from django.test import Client

from newsletter_site.middleware.error_pages import is_unavailable
from newsletter_site.operations.health.query_timeout import BoundedQuery, NoAnswerError
from tests.faults.wait_until import PATIENCE_S, eventually
from tests.publishing.second_connection import at_once, beside

with_database = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other(transactional_db: None) -> Iterator[psycopg.Connection]:
    beside = connection.copy()
    beside.ensure_connection()
    with beside.connection.transaction(force_rollback=True):
        yield beside.connection
    beside.close()


def visit(method: str = "get", path: str = "/", **form: str) -> HttpResponse:
    client = Client(raise_request_exception=False)
    answer: HttpResponse = getattr(client, method)(path, form, secure=True)
    return answer


def set_for_the_session(setting: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET {setting}")


def a_session_was_ended() -> bool:
    """End the sessions that wait for a lock, and return whether there were any.

    Do not call this in a transaction, because PostgreSQL would show an old list of sessions.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])


def test_a_session_ended_during_a_page_gives_503(other: psycopg.Connection) -> None:
    other.execute("LOCK TABLE newsletter IN ACCESS EXCLUSIVE MODE")
    page = beside(visit)
    eventually(a_session_was_ended, "the page waits")
    assert page.result(PATIENCE_S).status_code == 503


@with_database
def test_a_read_only_database_gives_503_for_writes() -> None:
    try:
        set_for_the_session("default_transaction_read_only = on")
        assert visit().status_code == 200
        assert visit("post", "/subscriptions/", email="ada@example.org").status_code == 503
    finally:
        connection.close()


def test_a_statement_timeout_stays_an_error(other: psycopg.Connection) -> None:
    try:
        set_for_the_session("statement_timeout = '100ms'")
        other.execute("LOCK TABLE newsletter IN ACCESS EXCLUSIVE MODE")
        assert visit().status_code == 500
    finally:
        connection.close()


def test_a_locked_table_does_not_block_probes(other: psycopg.Connection) -> None:
    other.execute("LOCK TABLE django_migrations, worker IN ACCESS EXCLUSIVE MODE")
    for check in ("ready", "workers"):
        answer = visit(path=f"/health/{check}/")
        assert answer.status_code == 503
        assert json.loads(answer.content)["reasons"] == ["The database does not answer."]


@with_database
def test_the_server_cancels_slow_queries() -> None:
    """Without this limit, each probe that gave up would leave a session behind."""
    ended: list[str] = []
    is_over = threading.Event()

    def long_one(cursor: Any) -> None:
        try:
            cursor.execute("SELECT pg_sleep(20)")
        except DatabaseError as error:
            ended.append(str(error))
            raise
        finally:
            is_over.set()

    with pytest.raises(NoAnswerError):
        BoundedQuery(long_one, timeout_s=0.2).answer()

    assert is_over.wait(PATIENCE_S)
    assert ended == ["canceling statement due to statement timeout"]


@with_database
def test_concurrent_probes_share_one_query() -> None:
    asks = threading.Lock()
    another_asks = threading.Event()

    def slow(cursor: Any) -> int:
        if not asks.acquire(blocking=False):
            another_asks.set()
            return 0
        another_asks.wait(0.5)
        asks.release()
        return 7

    question = BoundedQuery(slow, timeout_s=PATIENCE_S)
    assert at_once(*[question.answer] * 5) == [7] * 5


@pytest.mark.parametrize(
    ("fault", "away"),
    [
        (psycopg.errors.TooManyConnections("x"), True),
        (psycopg.errors.AdminShutdown("x"), True),
        (psycopg.errors.CannotConnectNow("x"), True),
        (psycopg.errors.ReadOnlySqlTransaction("x"), True),
        (psycopg.errors.ProtocolViolation("x"), True),  # PgBouncer cannot reach its server
        (psycopg.OperationalError("connection refused"), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (psycopg.InternalError("got no result from the query"), True),
        (psycopg.errors.DataCorrupted("x"), False),
        (psycopg.errors.QueryCanceled("x"), False),
        (psycopg.errors.DeadlockDetected("x"), False),
        (psycopg.errors.DiskFull("x"), False),
        (psycopg.errors.UniqueViolation("x"), False),
        (psycopg.errors.UndefinedTable("x"), False),
        (psycopg.ProgrammingError("x"), False),
        (ConnectionRefusedError("x"), False),  # an error of Postmark or another server
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_an_unavailable_database_are_recognised(fault: Any, away: bool) -> None:
    assert is_unavailable(fault) is away
    wrapped = RuntimeError("a page broke")
    wrapped.__cause__ = fault
    assert is_unavailable(wrapped) is away


def test_an_error_after_a_handled_outage_is_an_error() -> None:
    def page() -> None:
        try:
            raise psycopg.OperationalError("connection refused")
        except psycopg.OperationalError:
            raise RuntimeError("a page broke") from None

    with pytest.raises(RuntimeError) as later:
        page()
    assert not is_unavailable(later.value)
