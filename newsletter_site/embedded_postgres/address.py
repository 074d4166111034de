"""The only place that knows how to reach the server: each connection parameter, given explicitly.

Whatever libpq is not told it takes from the environment, so that a PGHOST, PGOPTIONS or
PGSSLMODE meant for another database would leak in.
"""

import os
from functools import cache
from pathlib import Path
from urllib.parse import quote

from psycopg import pq

PORT = 5432
SUPERUSER = "postgres"

# What to say for parameters that have no default of their own; "" means "not set" to these.
# Missing is `service`: to libpq an empty one is not "none" but the name of one.
UNSET = {
    "application_name": "",
    "client_encoding": "",
    "hostaddr": "",
    "max_protocol_version": "3.0",
    "min_protocol_version": "3.0",
    "options": "",
    "password": "",
    "require_auth": "",
    "requirepeer": "",
    "sslcertmode": "disable",
}


def parameters(socket_dir: Path, dbname: str) -> dict[str, str]:
    """All of libpq's connection parameters for database `dbname` of the server."""
    return own_defaults() | {
        "host": str(socket_dir),
        "port": str(PORT),
        "user": SUPERUSER,
        "dbname": dbname,
        "sslmode": "disable",
        "gssencmode": "disable",
        "connect_timeout": "10",
    }


@cache
def own_defaults() -> dict[str, str]:
    """What each parameter is when neither we nor the environment say anything.

    The list is the installed libpq's own, because it grows with each version.
    """
    known = {option.keyword.decode(): option.compiled for option in pq.Conninfo.get_defaults()}
    compiled = {keyword: default.decode() for keyword, default in known.items() if default}
    return compiled | {keyword: UNSET[keyword] for keyword in UNSET.keys() & known.keys()}


def url(socket_dir: Path, dbname: str) -> str:
    """A DATABASE_URL for database `dbname`, good for Django's settings and for libpq alike.

    The socket's folder stands in the query because a host name would lose its upper case.
    """
    folder = quote(os.fspath(socket_dir), safe="/")
    return f"postgresql://{SUPERUSER}@/{quote(dbname)}?host={folder}&port={PORT}&sslmode=disable"
