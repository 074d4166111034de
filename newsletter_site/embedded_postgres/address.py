"""The connection parameters of the server."""

import os
from pathlib import Path
from urllib.parse import quote

from psycopg import pq

PORT = 5432
SUPERUSER = "postgres"


def parameters(socket_dir: Path, dbname: str) -> dict[str, str]:
    """The connection parameters for database `dbname` of the server."""
    return {
        "host": str(socket_dir),
        "port": str(PORT),
        "user": SUPERUSER,
        "dbname": dbname,
        "connect_timeout": "10",
    }


def ignore_environment() -> None:
    """Make libpq ignore PGHOST, PGOPTIONS and so on, which are meant for another database."""
    for option in pq.Conninfo.get_defaults():
        if option.envvar:
            os.unsetenv(option.envvar.decode())


def url(socket_dir: Path, dbname: str) -> str:
    """A DATABASE_URL for database `dbname`, for Django's settings and for libpq."""
    # The folder is in the query, because a host name would lose its upper case.
    folder = quote(os.fspath(socket_dir), safe="/")
    return f"postgresql://{SUPERUSER}@/{quote(dbname)}?host={folder}&port={PORT}&sslmode=disable"
