"""What the tests of faults stand on: a database server of their own, a provider, workers."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection

from delivery import until_empty
from delivery.worker import worker_from_settings
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.faults.cutting_proxy import CuttingProxy
from tests.faults.onlooker import Onlooker
from tests.faults.own_server import OwnServer
from tests.faults.stalling_line import StallingLine
from tests.faults.waiting_for import held
from tests.faults.watched_migrate import LATER, WatchedMigrate
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
def here(server: OwnServer, database: str) -> Iterator[str]:
    """The name of that database, which this process uses."""
    with server.as_djangos_own(server.url(database)):
        yield database


@pytest.fixture
def provider(settings: Any) -> Iterator[SandboxServer]:
    """A Postmark that keeps every message it accepts."""
    with SandboxServer() as provider:
        settings.POSTMARK_BASE_URL = provider.url
        settings.POSTMARK_SERVER_TOKEN = "sandbox"
        yield provider


@pytest.fixture
def newsroom(here: str, settings: Any) -> Newsroom:
    """An author with a list, in that database."""
    settings.DELIVERY_BATCH_SIZE = 20
    settings.DELIVERY_HTTP_DEADLINE_S = 5.0
    settings.DELIVERY_LEASE_S = 5.0
    return Newsroom()


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
def in_a_call(
    newsroom: Newsroom, provider: SandboxServer, workers: Callable[..., WatchedWorker]
) -> Callable[..., tuple[Any, WatchedWorker]]:
    """Publishes to so many readers; a worker's call with all of them is held by the provider."""

    def begin(
        *options: str, readers: int = 20, moment: str = "after_accept", **settings: str
    ) -> tuple[Any, WatchedWorker]:
        edition = newsroom.publish(readers)
        provider.sandbox.set_fault("hold", moment=moment, calls=1)
        worker = workers(*options, **{"DELIVERY_HTTP_DEADLINE_S": "60"} | settings)
        held(provider)
        return edition, worker

    return begin


@pytest.fixture
def the_rest_goes_out(newsroom: Newsroom, settings: Any) -> Callable[[], None]:
    """Lets a worker of this process do everything that is left to do."""

    def run() -> None:
        connection.close()
        settings.DELIVERY_LEASE_S = settings.DELIVERY_HTTP_DEADLINE_S = 2.0
        settings.DELIVERY_LOOKUP_AFTER_S = (0.5, 1.0, 2.0)
        settings.DELIVERY_RETRY_BASE_S, settings.DELIVERY_RETRY_CAP_S = 0.1, 1.0
        watch = until_empty.Watch(io.StringIO(), is_terminal=False)
        worker_from_settings(2, is_awaited=True).run(until=watch.nothing_more_will_happen)

    return run


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
def line(provider: SandboxServer) -> Iterator[StallingLine]:
    """A line to the provider that can stop in the middle of a request."""
    with closing(StallingLine(provider.port)) as line:
        yield line


@pytest.fixture
def proxy(server: OwnServer) -> Iterator[CuttingProxy]:
    """A line to the test's server that can be cut."""
    with closing(CuttingProxy(server.socket, seed=1789)) as proxy:
        yield proxy


@pytest.fixture
def migrates(server: OwnServer, settings: Any) -> Callable[..., WatchedMigrate]:
    """Starts a migrate of the later release, on the database of this process or that of `url`."""
    settings.MIGRATION_MODULES = {**settings.MIGRATION_MODULES, "delivery": LATER}

    def begin(*options: str, url: str = "") -> WatchedMigrate:
        return WatchedMigrate(server, *options, url=url)

    return begin


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
