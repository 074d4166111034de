"""Fixtures of the fault tests: a separate database server, a provider, workers."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from postmark_sandbox.server import SandboxServer
from tests.delivery.conftest import provider
from tests.faults.delivery_stack import Stage
from tests.faults.processes.migration_observer import Onlooker
from tests.faults.processes.watched_migrate import LATER, WatchedMigrate
from tests.faults.servers.cutting_proxy import CuttingProxy
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.servers.stalling_proxy import StallingLine

__all__ = ["provider"]


@pytest.fixture(scope="session")
def server(django_db_blocker: Any) -> Iterator[OwnServer]:
    """Run a server for these tests only."""
    with django_db_blocker.unblock():
        server = OwnServer()
        yield server
        server.remove()


@pytest.fixture
def database(server: OwnServer) -> Iterator[str]:
    """Return the name of a database for this test."""
    with server.fresh_database() as name:
        yield name


@pytest.fixture
def here(server: OwnServer, database: str) -> Iterator[str]:
    """Use the test's database in this process; return its name."""
    with server.as_djangos_own(server.url(database)):
        yield database


@pytest.fixture
def stage(server: OwnServer, here: str, provider: SandboxServer, settings: Any) -> Iterator[Stage]:
    """Set up an author with a list in the test's database, a provider, and workers."""
    settings.DELIVERY_BATCH_SIZE = 20
    settings.DELIVERY_HTTP_DEADLINE_S = settings.DELIVERY_LEASE_S = 5.0
    with closing(Stage(server, here, provider, settings)) as stage:
        yield stage


@pytest.fixture
def line(provider: SandboxServer) -> Iterator[StallingLine]:
    """Run a proxy that can stall in the middle of a request to the provider."""
    with closing(StallingLine(provider.port)) as line:
        yield line


@pytest.fixture
def proxy(server: OwnServer) -> Iterator[CuttingProxy]:
    """Run a proxy that can cut connections to the test's database server."""
    with closing(CuttingProxy(server.socket)) as proxy:
        yield proxy


@pytest.fixture
def migrates(server: OwnServer, settings: Any) -> Callable[..., WatchedMigrate]:
    """Start migrations of the later release.

    The migrations change the database of this process, or the database of `url`.
    """
    settings.MIGRATION_MODULES = {**settings.MIGRATION_MODULES, "delivery": LATER}

    def begin(*options: str, url: str = "") -> WatchedMigrate:
        return WatchedMigrate(server, *options, url=url)

    return begin


@pytest.fixture
def onlooker(server: OwnServer, database: str) -> Iterator[Onlooker]:
    """Observe the test's database from another session."""
    with psycopg.connect(server.url(database), autocommit=True) as session:
        yield Onlooker(session)
