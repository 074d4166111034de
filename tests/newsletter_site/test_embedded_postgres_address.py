"""How the embedded server is reached: over a closed socket only, whatever the environment says."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import environ
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from newsletter_site.embedded_postgres import address, database_url, prepare_data_dir
from newsletter_site.embedded_postgres.cluster import LONGEST_SOCKET_PATH, cluster_in
from tests import own_cluster
from tests.newsletter_site.conftest import Program

Start = Callable[..., Program]

pytestmark = pytest.mark.process

LEAKING = {
    "PGDATABASE": "elsewhere",
    "PGHOST": "db.example.org",
    "PGHOSTADDR": "192.0.2.1",
    "PGOPTIONS": "-c no_such_setting=1",
    "PGPORT": "1",
    "PGREQUIREAUTH": "scram-sha-256",
    "PGREQUIREPEER": "nobody-of-this-name",
    "PGSSLCERTMODE": "require",
    "PGSSLMODE": "verify-full",
    "PGSSLNEGOTIATION": "direct",
    "PGTARGETSESSIONATTRS": "standby",
    "PGUSER": "somebody",
}


@pytest.fixture
def long_data_dir(data_dir: Path) -> Iterator[Path]:
    """A data folder whose path is too long for a socket."""
    folder = prepare_data_dir(data_dir / ("deep-" * 20) / "homing")
    yield folder
    own_cluster.remove(folder)


@pytest.fixture
def oddly_named_data_dir(data_dir: Path) -> Iterator[Path]:
    """A data folder whose name would be damaged by careless quoting."""
    folder = prepare_data_dir(data_dir / "Ünder_Way 100%&x=y?#+")
    yield folder
    own_cluster.remove(folder)


def test_the_server_listens_on_a_socket_in_a_folder_of_one_user_whatever_libpq_is_told(
    data_dir: Path, program: Start
) -> None:
    user = program(data_dir, **LEAKING)
    assert user.query("SELECT current_setting('listen_addresses')") == ""
    cluster = cluster_in(data_dir, durable=False)
    socket = cluster.socket_dir / f".s.PGSQL.{address.PORT}"
    assert stat.S_ISSOCK(socket.stat().st_mode)
    folder = cluster.socket_dir.stat()
    assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (cluster.user.uid, 0o700)


def test_a_path_too_long_for_a_socket_gets_a_short_closed_folder(
    long_data_dir: Path, program: Start
) -> None:
    assert program(long_data_dir).query("SELECT 1") == 1
    cluster = cluster_in(long_data_dir, durable=False)
    socket = cluster.socket_dir / f".s.PGSQL.{address.PORT}"
    assert len(os.fsencode(socket)) < LONGEST_SOCKET_PATH
    folder = cluster.socket_dir.stat()
    assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (cluster.user.uid, 0o700)


def test_a_database_url_reaches_the_same_database_through_libpq_and_through_settings(
    oddly_named_data_dir: Path, program: Start
) -> None:
    user = program(oddly_named_data_dir)
    user.ask("sql", text="CREATE TABLE here AS SELECT 42 AS answer")
    url = database_url(oddly_named_data_dir)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT answer FROM here").fetchone() == (42,)
    read = environ.Env.db_url_config(url)
    assert read["ENGINE"] == "django.db.backends.postgresql"
    named = make_conninfo(dbname=read["NAME"], user=read["USER"], **read["OPTIONS"])
    with psycopg.connect(named) as connection:
        assert connection.execute("SELECT answer FROM here").fetchone() == (42,)


def test_every_parameter_that_libpq_knows_a_default_for_is_given() -> None:
    given = address.parameters(Path("/somewhere"), "homing")
    for option in psycopg.pq.Conninfo.get_defaults():
        if option.compiled:
            assert option.keyword.decode() in given
