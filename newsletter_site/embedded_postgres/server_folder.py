"""A server's folder, socket, user and connection parameters."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from newsletter_site.embedded_postgres import private_files
from newsletter_site.embedded_postgres.find_binaries import Binaries, find_binaries
from newsletter_site.embedded_postgres.server_user import ServerUser, can_enter, server_user

PORT = 5432
SUPERUSER = "postgres"
# The longest path of a socket is 107 bytes on Linux and 103 on macOS.
LONGEST_SOCKET_PATH = 100


@dataclass(frozen=True)
class Cluster:
    """One embedded server, whose files are in `home`, which only `user` can enter."""

    home: Path
    socket_dir: Path
    binaries: Binaries
    user: ServerUser
    durable: bool

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "server.log"

    def parameters(self, dbname: str) -> dict[str, str]:
        """Return the parameters to connect to the database `dbname`."""
        return {
            "host": str(self.socket_dir),
            "port": str(PORT),
            "user": SUPERUSER,
            "dbname": dbname,
            "connect_timeout": "10",
        }

    def url(self, dbname: str) -> str:
        """Return a DATABASE_URL for the database `dbname`, for Django and libpq."""
        # Put the socket's folder into the query: as the URL's host, it would become lower case.
        folder = quote(os.fspath(self.socket_dir), safe="/")
        return (
            f"postgresql://{SUPERUSER}@/{quote(dbname)}?host={folder}&port={PORT}&sslmode=disable"
        )


@cache
def cluster_in(data_dir: Path, durable: bool = True) -> Cluster:
    """Return the cluster in `data_dir`, or in /var/tmp if the server cannot enter it."""
    data_dir = private_files.prepare_data_dir(data_dir)
    user = server_user(data_dir)
    binaries = find_binaries(user)
    home = data_dir / f"postgresql-{binaries.major}"
    if not user.is_us and not can_enter(user, data_dir):
        home = private_files.named_for(Path("/var/tmp"), str(home), user)
    home = private_files.private_folder(home, user)
    return Cluster(home, socket_dir_for(home, user), binaries, user, durable)


def socket_dir_for(home: Path, user: ServerUser) -> Path:
    """Return the socket's folder: the home, or a folder in /tmp for a long path."""
    if len(os.fsencode(home / f".s.PGSQL.{PORT}")) < LONGEST_SOCKET_PATH:
        return home
    return private_files.private_folder(
        private_files.named_for(Path("/tmp"), str(home), user), user
    )
