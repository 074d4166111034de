"""What the tests of faults stand on: a database server of their own, a provider, workers."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from postmark_sandbox.server import SandboxServer
from tests.faults.delivery_stack import Stage
from tests.faults.migration_observer import Onlooker
from tests.faults.processes.watched_migrate import LATER, WatchedMigrate
from tests.faults.servers.cutting_proxy import CuttingProxy
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.servers.stalling_proxy import StallingLine


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
def stage(server: OwnServer, here: str, provider: SandboxServer, settings: Any) -> Iterator[Stage]:
    """An author with a list in that database, that provider, and workers."""
    settings.DELIVERY_BATCH_SIZE = 20
    settings.DELIVERY_HTTP_DEADLINE_S = settings.DELIVERY_LEASE_S = 5.0
    with closing(Stage(server, here, provider, settings)) as stage:
        yield stage


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
