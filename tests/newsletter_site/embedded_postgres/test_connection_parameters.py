"""The embedded server's connections, which use only a private socket."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import environ
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from newsletter_site.embedded_postgres import database_url, prepare_data_dir
from newsletter_site.embedded_postgres.server_folder import LONGEST_SOCKET_PATH, PORT, cluster_in
from tests import postgres_cluster
from tests.newsletter_site.conftest import Program

Start = Callable[..., Program]

pytestmark = pytest.mark.process

LEAKING = {
    "PGHOST": "db.example.org",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGUSER": "somebody",
    "PGDATABASE": "elsewhere",
    "PGOPTIONS": "-c no_such_setting=1",
    "PGSSLMODE": "verify-full",
    "PGREQUIREAUTH": "scram-sha-256",
    "PGREQUIREPEER": "nobody-of-this-name",
    "PGSSLCERTMODE": "require",
    "PGSSLNEGOTIATION": "direct",
    "PGTARGETSESSIONATTRS": "standby",
}


@pytest.fixture
def odd_data_dir(data_dir: Path) -> Iterator[Path]:
    """Create a data folder whose path is too long for a socket and needs quoting."""
    folder = prepare_data_dir(data_dir / ("deep-" * 20) / "Ünder_Way 100%&x=y?#+")
    yield folder
    postgres_cluster.remove(folder)


def test_server_uses_only_a_private_socket_in_any_environment(
    data_dir: Path, program: Start
) -> None:
    user = program(data_dir, **LEAKING)
    assert user.query("SELECT current_setting('listen_addresses')") == ""
    cluster = cluster_in(data_dir, durable=False)
    socket = cluster.socket_dir / f".s.PGSQL.{PORT}"
    assert stat.S_ISSOCK(socket.stat().st_mode)
    folder = cluster.socket_dir.stat()
    assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (cluster.user.uid, 0o700)


def test_a_database_url_works_for_libpq_and_for_settings(
    odd_data_dir: Path, program: Start
) -> None:
    user = program(odd_data_dir)
    user.ask("sql", text="CREATE TABLE here AS SELECT 42 AS answer")
    cluster = cluster_in(odd_data_dir, durable=False)
    socket = cluster.socket_dir / f".s.PGSQL.{PORT}"
    assert len(os.fsencode(socket)) < LONGEST_SOCKET_PATH
    folder = cluster.socket_dir.stat()
    assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (cluster.user.uid, 0o700)
    url = database_url(odd_data_dir)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT answer FROM here").fetchone() == (42,)
    read = environ.Env.db_url_config(url)
    assert read["ENGINE"] == "django.db.backends.postgresql"
    named = make_conninfo(dbname=read["NAME"], user=read["USER"], **read["OPTIONS"])
    with psycopg.connect(named) as connection:
        assert connection.execute("SELECT answer FROM here").fetchone() == (42,)
