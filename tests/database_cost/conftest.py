"""A separate database server for these tests, which count the server's work."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.database_work import NO_CHECKPOINTS
from tests.delivery.conftest import provider
from tests.delivery.edition_factory import Newsroom
from tests.faults.servers.postgres_server import FORGETFUL, OwnServer

__all__ = ["provider"]

# The settings are those of a production server, except for the disk. No checkpoint may occur while
# work is counted, because the first change of a page after a checkpoint writes the whole page into
# the log.
SERVER = {"full_page_writes": "on"} | NO_CHECKPOINTS


@pytest.fixture(scope="session")
def server(django_db_setup: None, django_db_blocker: Any) -> Iterator[OwnServer]:
    with django_db_blocker.unblock():
        lines = (f"{name} = {value}\n" for name, value in SERVER.items())
        server = OwnServer(FORGETFUL + "".join(lines))
        yield server
        server.remove()


@pytest.fixture
def database(server: OwnServer) -> Iterator[str]:
    with server.fresh_database() as name:
        yield name


@pytest.fixture
def newsroom(server: OwnServer, database: str, settings: Any) -> Iterator[Newsroom]:
    """Make an author with a list in the test's database, and batches of 200 copies."""
    settings.DELIVERY_BATCH_SIZE = 200
    settings.DELIVERY_HTTP_DEADLINE_S = 5.0
    settings.DELIVERY_LEASE_S = 5.0
    with server.as_djangos_own(server.url(database)):
        yield Newsroom()
