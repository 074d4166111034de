"""PostgreSQL's own log names failures, but no reader's data."""

import shlex
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import yaml
from psycopg import errors
from psycopg.conninfo import make_conninfo

from newsletter_site.embedded_postgres.server_folder import cluster_in
from newsletter_site.embedded_postgres.start_and_stop_server import SETTINGS
from tests.newsletter_site.conftest import Program

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
ADA = "ada@posthouse.example.org"
QUIET = ("log_min_error_statement", "log_error_verbosity")


def test_a_failed_statement_and_its_row_are_not_logged(
    data_dir: Path, program: Callable[..., Program]
) -> None:
    assert program(data_dir).query("SELECT 1") == 1
    cluster = cluster_in(data_dir, durable=False)
    conninfo = make_conninfo(**cluster.parameters("homing"))
    with psycopg.connect(conninfo, autocommit=True) as session:
        session.execute("CREATE TABLE reader (email text CONSTRAINT one_reader UNIQUE)")
        session.execute("INSERT INTO reader VALUES (%s)", [ADA])
        with pytest.raises(errors.UniqueViolation, match=ADA):
            session.execute(f"INSERT INTO reader VALUES ('{ADA}')")
        session.execute("SET statement_timeout = '1ms'")
        with pytest.raises(errors.QueryCanceled):
            session.execute(f"SELECT pg_sleep(60), '{ADA}'")
    log = cluster.log.read_text()
    assert "one_reader" in log
    assert "statement timeout" in log
    assert ADA not in log


def test_the_compose_server_has_the_same_log_settings() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    program, *options = shlex.split(services["postgres"]["command"])
    assert program == "postgres"
    given = dict(text.split("=") for text in options if text != "-c")
    assert given == {name: SETTINGS[name] for name in QUIET}
