"""The only place that decides where a server lives: its folder, its socket, its user."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from newsletter_site.embedded_postgres.address import PORT
from newsletter_site.embedded_postgres.binaries import Binaries, find_binaries
from newsletter_site.embedded_postgres.private_folder import (
    named_for,
    prepare_data_dir,
    private_folder,
)
from newsletter_site.embedded_postgres.server_user import ServerUser, can_enter, server_user

# The longest path of a socket is 107 bytes on Linux and 103 on macOS.
LONGEST_SOCKET_PATH = 100


@dataclass(frozen=True)
class Cluster:
    """One PostgreSQL server of ours. All its files are in `home`, which only `user` may enter."""

    home: Path
    socket_dir: Path
    binaries: Binaries
    user: ServerUser
    durable: bool

    @property
    def data(self) -> Path:
        """PostgreSQL's own data directory."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.home / "server.log"

    @property
    def gate(self) -> Path:
        """The lock file held by whoever starts, joins, leaves or stops; only ever for a moment."""
        return self.home / "gate.lock"

    @property
    def users(self) -> Path:
        """The lock file that every process which uses the server holds as long as it lives."""
        return self.home / "users.lock"


@cache
def cluster_in(data_dir: Path, durable: bool = True) -> Cluster:
    """The cluster of `data_dir`, its folders made if they are missing; the server is not started.

    The home carries PostgreSQL's major version, because a folder of one does not open with
    another. It stands in the data folder, or in /var/tmp where the server's user cannot enter that.
    """
    data_dir = prepare_data_dir(data_dir)
    user = server_user(data_dir)
    binaries = find_binaries(user)
    home = data_dir / f"postgresql-{binaries.major}"
    if not user.is_us and not can_enter(user, data_dir):
        home = named_for(Path("/var/tmp"), str(home), user)
    home = private_folder(home, user)
    return Cluster(home, socket_dir_for(home, user), binaries, user, durable)


def socket_dir_for(home: Path, user: ServerUser) -> Path:
    """Where the socket lies: in the home, or in /tmp if the path would be too long for a socket."""
    if len(os.fsencode(home / f".s.PGSQL.{PORT}")) < LONGEST_SOCKET_PATH:
        return home
    return private_folder(named_for(Path("/tmp"), str(home), user), user)
