"""Migrations that this code knows and the database lacks. It applies none."""

from functools import cache

from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

MigrationName = tuple[str, str]


@cache
def _known() -> dict[MigrationName, tuple[MigrationName, ...]]:
    """Every migration on disk with those it replaces, read once in a process."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return {name: tuple(migration.replaces) for name, migration in loader.disk_migrations.items()}


def find_pending(cursor: CursorWrapper) -> tuple[str, ...]:
    """Return the migrations that the database lacks, as `app.name`, in order. It may have more."""
    applied = set(MigrationRecorder(cursor.db).applied_migrations())
    return tuple(
        sorted(
            ".".join(name)
            for name, replaced in _known().items()
            if name not in applied and not (replaced and applied.issuperset(replaced))
        )
    )
