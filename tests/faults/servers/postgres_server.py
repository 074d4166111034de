"""Run a PostgreSQL server that a test may stop, crash, freeze and cut off."""

import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

import environ
import psycopg
from django.core.management import call_command
from django.db import connections
from psycopg import sql
from psycopg.conninfo import make_conninfo

from newsletter_site.embedded_postgres import start_and_stop_server
from newsletter_site.embedded_postgres.server_folder import PORT, Cluster, cluster_in
from newsletter_site.embedded_postgres.server_user import run_as
from newsletter_site.embedded_postgres.start_and_stop_server import make_data_directory
from tests.database import remove_guard
from tests.database.template import set_like_migrate
from tests.postgres_cluster import OwnCluster, remove

TEMPLATE = "with_tables"
# The data need not survive a crash of the machine, only a crash of the server.
FORGETFUL = "\nfsync = off\nfull_page_writes = off\nlog_min_messages = fatal\n"
# Through a proxy, every user of the machine can reach this server, so it requires a password.
WHO_MAY_COME_IN = "local all all scram-sha-256\n"


class OwnServer:
    """A server with a template database that has all tables but no rows."""

    def __init__(self, configuration: str = FORGETFUL) -> None:
        self._folder = OwnCluster()  # if this run is killed, the next run removes the folder
        self.cluster: Cluster = cluster_in(self._folder.data_dir)
        self.password = secrets.token_hex(12)
        self._databases = 0
        make_data_directory(self.cluster)
        with (self.cluster.data / "postgresql.conf").open("a") as file:
            file.write(configuration)
        self.start()
        with psycopg.connect(self._trusted("postgres"), autocommit=True) as connection:
            connection.execute(
                sql.SQL("ALTER ROLE postgres PASSWORD {}").format(sql.Literal(self.password))
            )
            connection.execute("CREATE DATABASE with_tables")
            (self.cluster.data / "pg_hba.conf").write_text(WHO_MAY_COME_IN)
            connection.execute("SELECT pg_reload_conf()")
        with self.as_djangos_own(self.url(TEMPLATE)):
            call_command("migrate", verbosity=0)
            remove_guard.take_out()

    def _trusted(self, database: str) -> str:
        return make_conninfo(**self.cluster.parameters(database))

    def remove(self) -> None:
        """Stop the server and remove its files."""
        remove(self._folder.data_dir)
        os.close(self._folder.lock)

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        start_and_stop_server.start(self.cluster)

    def stop(self, mode: str) -> None:
        """Stop the server. `fast` ends every session cleanly; `immediate` is a crash."""
        pg_ctl = self.cluster.binaries / "pg_ctl"
        data = self.cluster.data
        run_as(self.cluster.user, pg_ctl, "stop", "-D", data, "-m", mode, "-w", "-t", "60", "-s")

    @contextmanager
    def away(self, mode: str) -> Iterator[None]:
        """Keep the server stopped during the block."""
        connections["default"].close()
        self.stop(mode)
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def frozen(self, database: str) -> Iterator[None]:
        """Freeze every session of `database` during the block."""
        connections["default"].close()
        with self.admin() as admin:
            rows = admin.execute("SELECT pid FROM pg_stat_activity WHERE datname = %s", [database])
            postmaster = int((self.cluster.data / "postmaster.pid").read_text().split()[0])
            pids = [postmaster, *(pid for (pid,) in rows)]

        def send_signal(number: signal.Signals) -> None:
            for pid in pids:
                # A closed session may end at this moment.
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

        try:
            send_signal(signal.SIGSTOP)
            yield
        finally:
            send_signal(signal.SIGCONT)

    def url(self, database: str) -> str:
        """Return the DATABASE_URL of a database, over the socket."""
        folder = quote(os.fspath(self.cluster.socket_dir), safe="/")
        return (
            f"postgresql://postgres:{self.password}@/{database}"
            f"?host={folder}&port={PORT}&sslmode=disable"
        )

    @property
    def socket(self) -> str:
        """Return the path of the server's socket."""
        return str(self.cluster.socket_dir / f".s.PGSQL.{PORT}")

    @contextmanager
    def admin(self) -> Iterator[psycopg.Connection]:
        """Open a superuser session outside the databases of the tests."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            yield connection

    @contextmanager
    def fresh_database(
        self, template: str = TEMPLATE, tablespace: str = "pg_default"
    ) -> Iterator[str]:
        """Create a database with all tables but no rows for the block; yield its name."""
        self._databases += 1
        name = sql.Identifier(f"test_{self._databases}")
        with self.admin() as admin:
            # PostgreSQL 14 always copies files and does not know the word STRATEGY.
            strategy = "" if admin.info.server_version < 150000 else "STRATEGY file_copy"
            admin.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} TABLESPACE {} {}").format(
                    name, sql.Identifier(template), sql.Identifier(tablespace), sql.SQL(strategy)
                )
            )
            set_like_migrate(admin, f"test_{self._databases}")
        yield f"test_{self._databases}"
        with self.admin() as admin:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))

    @contextmanager
    def as_djangos_own(self, url: str) -> Iterator[None]:
        """Route Django's connections of this process to `url` for the block."""
        usual = connections.settings["default"]
        mine = usual | environ.Env.db_url_config(url)
        mine["OPTIONS"] = usual.get("OPTIONS", {}) | mine.get("OPTIONS", {})
        mine.pop("EMBEDDED_POSTGRES", None)
        connection = connections["default"]
        connections.settings["default"] = mine
        connections["default"] = connections.create_connection("default")
        try:
            yield
        finally:
            connections["default"].close()
            connections.settings["default"] = usual
            connections["default"] = connection
