"""
The ground that a proof stands on: a PostgreSQL server of its own, as durable as in production, and
databases with all tables and as many readers as are wanted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from newsletter_site import embedded_postgres
from newsletter_site.embedded_postgres import users
from newsletter_site.embedded_postgres.cluster import cluster_in
from newsletter_site.embedded_postgres.initdb import make_data_directory
from tests.own_cluster import ROOT, OwnCluster

# Nobody's shell leaks into a proof: of the environment only this stays.
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
    "DEBUG": "off",
    "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
    "POSTMARK_SERVER_TOKEN": "sandbox",
    "SITE_URL": "https://letter.example.org",
    "PUBLISH_HOLD_S": "0",
    "PYTHONUNBUFFERED": "1",
}
TEMPLATE = "with_tables"


def clean_environment() -> None:
    """Make the environment of this process, and so of its children, the proofs' own."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept | ENVIRONMENT)


class Ground:
    """The server of one run. Commit times are kept, so that a publication's can be read."""

    def __init__(self) -> None:
        self._own = OwnCluster()
        self.folder: Path = self._own.data_dir
        cluster = self.cluster = cluster_in(self.folder)
        make_data_directory(cluster)
        with (cluster.data / "postgresql.conf").open("a") as file:
            file.write("\ntrack_commit_timestamp = on\n")
        users.join(cluster)
        with self._admin() as admin:
            admin.execute("CREATE DATABASE with_tables")
        url = self._url(TEMPLATE)
        manage(url, "migrate", "--verbosity", "0")
        author = ("--username", "author", "--email", "author@example.org")
        manage(url, "createsuperuser", "--noinput", *author)

    def remove(self) -> None:
        """Stop the server and remove its files."""
        self._own.end()

    def _url(self, database: str) -> str:
        return embedded_postgres.database_url(self.folder, database)

    def _admin(self) -> psycopg.Connection:
        return psycopg.connect(self._url("postgres"), autocommit=True)

    @contextmanager
    def database(self, name: str, *, like: str = TEMPLATE) -> Iterator[str]:
        """A database like another one, gone at the end; its address."""
        with self._admin() as admin:
            admin.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                    sql.Identifier(name), sql.Identifier(like)
                )
            )
        try:
            yield self._url(name)
        finally:
            with self._admin() as admin:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def ground() -> Iterator[Ground]:
    """A ground that goes with the block."""
    it = Ground()
    try:
        yield it
    finally:
        it.remove()


def manage(url: str, *command: str, **settings: str) -> str:
    """The output of a management command on the database at `url`; ends the run if it fails."""
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url} | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
