"""What the tests of faults stand on: a database server of their own, a provider, workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection

from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.faults.onlooker import Onlooker
from tests.faults.own_server import OwnServer
from tests.faults.watched_migrate import WatchedMigrate
from tests.faults.watched_worker import WatchedWorker

READERS = 200


@pytest.fixture(scope="session")
def server(django_db_blocker: Any) -> Iterator[OwnServer]:
    """A server for these tests alone."""
    with django_db_blocker.unblock():
        server = OwnServer()
        yield server
        server.remove()


@pytest.fixture
def database(server: OwnServer) -> Iterator[str]:
    """The name of a database of the test's own."""
    with server.fresh_database() as name:
        yield name


@pytest.fixture
def provider(settings: Any) -> Iterator[SandboxServer]:
    """A Postmark that keeps every message it accepts."""
    with SandboxServer() as provider:
        settings.POSTMARK_BASE_URL = provider.url
        settings.POSTMARK_SERVER_TOKEN = "sandbox"
        yield provider


@pytest.fixture
def newsroom(server: OwnServer, database: str, settings: Any) -> Iterator[Newsroom]:
    """An author with a list, in that database."""
    settings.DELIVERY_BATCH_SIZE = 20
    settings.DELIVERY_HTTP_DEADLINE_S = 5.0
    settings.DELIVERY_LEASE_S = 5.0
    with server.as_djangos_own(server.url(database)):
        yield Newsroom()


@pytest.fixture
def workers(
    server: OwnServer, database: str, provider: SandboxServer
) -> Iterator[Callable[..., WatchedWorker]]:
    """Starts a worker on the test's database and provider; `url` leads it there another way."""
    with ExitStack() as stack:

        def begin(*options: str, url: str = "", **settings: str) -> WatchedWorker:
            worker = WatchedWorker(url or server.url(database), provider.url, *options, **settings)
            stack.callback(worker.kill)
            return worker

        yield begin


@pytest.fixture
def all_got_one(newsroom: Newsroom, provider: SandboxServer) -> Callable[[Any, int], None]:
    """Says that so many readers were sent an edition, each one copy, and that the books say so."""

    def look(edition: Any, readers: int) -> None:
        connection.close()
        books = newsroom.books(edition)
        assert (books.audience, books.sent) == (readers, readers)
        summary = provider.sandbox.summary()
        assert (summary["accepted"], summary["distinct_deliveries"]) == (readers, readers)
        assert summary["deliveries_with_more_than_one_copy"] == 0

    return look


@pytest.fixture
def an_issue_goes_out(
    newsroom: Newsroom,
    workers: Callable[..., WatchedWorker],
    all_got_one: Callable[[Any, int], None],
) -> Callable[[], None]:
    """Publishes an issue and says that a worker sends all of it, beside whatever else goes on."""

    def publish_and_send() -> None:
        edition = newsroom.publish(READERS)
        assert workers("--until-empty").end() == 0
        all_got_one(edition, READERS)

    return publish_and_send


@pytest.fixture
def migrates(server: OwnServer, database: str) -> Iterator[Callable[..., WatchedMigrate]]:
    """Starts a migrate of the later release on the test's database."""
    with ExitStack() as stack:

        def begin(*options: str, url: str = "", **settings: str) -> WatchedMigrate:
            run = WatchedMigrate(url or server.url(database), *options, **settings)
            stack.callback(run.kill)
            return run

        yield begin


@pytest.fixture
def onlooker(server: OwnServer, database: str) -> Iterator[Onlooker]:
    """Looks at the test's database from a session of its own."""
    with psycopg.connect(server.url(database), autocommit=True) as session:
        yield Onlooker(session)


@pytest.fixture
def holder(server: OwnServer, database: str) -> Iterator[Callable[[str], Any]]:
    """Opens a session that has done something in a transaction which stays open."""

    @contextmanager
    def hold(statement: str) -> Iterator[psycopg.Connection]:
        with psycopg.connect(server.url(database)) as session:
            session.execute(statement)
            yield session
            session.rollback()

    return hold
