"""Which migrations this code knows and the database has not seen. It applies none."""

from __future__ import annotations

from functools import cache

from django.db import ProgrammingError, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader

Name = tuple[str, str]


@cache
def _known() -> dict[Name, tuple[Name, ...]]:
    """Every migration on disk, with those that it replaces; read once in a process."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return {name: tuple(migration.replaces) for name, migration in loader.disk_migrations.items()}


def find_pending(cursor: CursorWrapper) -> tuple[str, ...]:
    """
    The migrations that this code knows and the database lacks, as `app.name`, in order.

    What the database has beyond them is no matter: an old process finishes on new tables. All are
    missing where nothing was ever applied.
    """
    applied = _applied(cursor)

    def is_there(name: Name, replaces: tuple[Name, ...]) -> bool:
        return name in applied or (bool(replaces) and all(old in applied for old in replaces))

    return tuple(
        sorted(
            ".".join(name) for name, replaces in _known().items() if not is_there(name, replaces)
        )
    )


def _applied(cursor: CursorWrapper) -> set[Name]:
    try:
        with transaction.atomic():
            cursor.execute("SELECT app, name FROM django_migrations")
            return {(app, name) for app, name in cursor.fetchall()}
    except ProgrammingError as error:
        if type(error.__cause__).__name__ != "UndefinedTable":
            raise
        return set()
