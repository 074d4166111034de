"""Data folders and programs for the tests of the embedded PostgreSQL."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from newsletter_site.embedded_postgres import start_and_stop_server
from newsletter_site.embedded_postgres.server_folder import cluster_in
from tests import postgres_cluster

PROGRAM = Path(__file__).with_name("connecting_program.py")


class Program:
    """A running `connecting_program.py`."""

    def __init__(
        self,
        *data_dirs: Path,
        durable: bool = False,
        packages: Path = postgres_cluster.ROOT,
        **environment: str,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, packages, "durable" if durable else "forgetful", *data_dirs],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(postgres_cluster.ROOT), **environment},
        )

    def send(self, do: str, **arguments: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return json.loads(line)

    def ask(self, do: str, **arguments: Any) -> Any:
        self.send(do, **arguments)
        return self.receive()

    def query(self, text: str, alias: str = "one") -> Any:
        found = self.ask("sql", text=text, alias=alias)
        assert isinstance(found, list), found
        return found[0]

    def end(self) -> str:
        """Let the program end normally, and return its stderr."""
        errors = self.process.communicate()[1]
        assert self.process.returncode == 0, errors
        return errors

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def a_data_dir() -> Iterator[Path]:
    """Create a data folder in a place that any user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="homing-test-", dir="/var/tmp"))
    folder.chmod(0o711)
    yield folder
    postgres_cluster.remove(folder)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with a_data_dir() as folder:
        yield folder


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    """Start programs, and end them with the test."""
    started: list[Program] = []

    def start(*arguments: Any, **options: Any) -> Program:
        started.append(Program(*arguments, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()


def is_up(data_dir: Path) -> bool:
    return start_and_stop_server.is_up(cluster_in(data_dir, durable=False))


def server_pid(data_dir: Path) -> int:
    pid_file = cluster_in(data_dir, durable=False).data / "postmaster.pid"
    return int(pid_file.read_text().splitlines()[0])


@pytest.fixture
def one_migration_less(transactional_db: None) -> Iterator[str]:
    """Remove the record of an app's last migration, and yield its name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE id = (SELECT max(id) FROM django_migrations "
            "WHERE app = 'delivery') RETURNING app, name, applied"
        )
        row = cursor.fetchone()
        yield row[1]
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)", row
        )
