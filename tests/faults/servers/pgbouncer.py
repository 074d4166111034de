"""Run a real PgBouncer in transaction mode between the workers and the server."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import psycopg

from newsletter_site.embedded_postgres.server_folder import PORT as SERVER_PORT
from newsletter_site.embedded_postgres.server_folder import Cluster
from tests.faults.wait_until import eventually
from tests.installed_programs import program

PORT = 6432

# The configuration has no `server_reset_query`, so a client sees the session state that another
# client left.
CONFIGURATION = """
[databases]
* = host={socket_dir} port={port} password={password}

[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {own_port}
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
server_reset_query =
default_pool_size = {pool_size}
max_client_conn = 200
# If the server is away, try again after a second.
server_login_retry = 1
"""


class Server(Protocol):
    """A database server to which a pooler can connect."""

    cluster: Cluster
    password: str


class Pooler:
    """A pooler that lends one of `pool_size` sessions for each transaction."""

    def __init__(self, server: Server, *, pool_size: int) -> None:
        self._program = program("pgbouncer", package="pgbouncer")
        self._password = server.password
        self._user = server.cluster.user
        self._folder = Path(tempfile.mkdtemp(prefix="pooler-", dir="/tmp"))
        (self._folder / "users").write_text(f'"postgres" "{server.password}"\n')
        (self._folder / "pooler.ini").write_text(
            CONFIGURATION.format(
                socket_dir=server.cluster.socket_dir,
                port=SERVER_PORT,
                password=server.password,
                folder=self._folder,
                own_port=PORT,
                pool_size=pool_size,
            )
        )
        if not self._user.is_us:
            for path in (self._folder, *self._folder.iterdir()):
                os.chown(path, self._user.uid, self._user.gid)
        self.start()

    def url(self, database: str) -> str:
        """Return the DATABASE_URL that leads through this pooler."""
        folder = quote(str(self._folder), safe="/")
        return (
            f"postgresql://postgres:{self._password}@/{database}"
            f"?host={folder}&port={PORT}&sslmode=disable"
        )

    def start(self) -> None:
        """Start the pooler, and wait until it accepts connections."""
        # PgBouncer refuses to run as root, and only the server's user may open the server's socket.
        identity = {} if self._user.is_us else {"user": self._user.uid, "group": self._user.gid}
        self._process = subprocess.Popen(
            [self._program, str(self._folder / "pooler.ini")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **identity,  # type: ignore[call-overload]
        )
        eventually(self._takes_connections, "PgBouncer accepts connections")

    def _takes_connections(self) -> bool:
        assert self._process.poll() is None, "PgBouncer ended at its start"
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """Send SIGKILL, which cuts every connection through the pooler."""
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """Send SIGKILL, and start the pooler again."""
        self.kill()
        self.start()

    def remove(self) -> None:
        """Stop the pooler and remove its files."""
        self.kill()
        shutil.rmtree(self._folder)
