"""Back up the test database by copying it to another database of the same server."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from django.db import connection


class Backup:
    """A copy of the database at one moment; `url` is the address of the copy."""

    def __init__(self, database_url: str) -> None:
        self.name = f"restored_{uuid.uuid4().hex[:12]}"
        parts = urlsplit(database_url)
        self.url = urlunsplit(parts._replace(path=f"/{self.name}"))
        self._source = connection.settings_dict["NAME"]

    def make(self) -> None:
        """Copy the database now; for that, first end all connections to it."""
        connection.close()
        with connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [self._source],
            )
            cursor.execute(f'CREATE DATABASE "{self.name}" TEMPLATE "{self._source}"')

    def drop(self) -> None:
        """Drop the copy, even if it has connections."""
        with connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')


@contextmanager
def backup_of(database_url: str) -> Iterator[Backup]:
    """Take a backup now, and drop it at the end."""
    backup = Backup(database_url)
    try:
        backup.make()
        yield backup
    finally:
        backup.drop()
