"""Restore a backup, and declare the restore in the same transaction."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from delivery.interface import database_identity
from delivery.monitoring.worker_heartbeat import load_activity
from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.backup_file import BackupFile, Report, read_backup
from newsletter_site.backup.manifest import (
    Manifest,
    Target,
    why_not_into,
    why_not_restorable,
)
from newsletter_site.backup.postgres_programs import (
    Programs,
    feed,
    find_programs,
    read_failure,
    require_direct_connection,
)
from newsletter_site.backup.take_backup import without_migrate

# What extensions bring along does not count, such as the views of pg_stat_statements.
_IS_EMPTY = r"""
    SELECT NOT EXISTS (
        SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%%'
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass
                          AND objid = pg_class.oid AND deptype = 'e'))
"""
_SESSIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
      AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def restore_backup(
    path: Path,
    connection: BaseDatabaseWrapper,
    *,
    keys: Sequence[str],
    other_key: bool,
    replaces: bool,
    report: Report,
) -> Manifest:
    """Restore the backup at `path`, or raise BackupRefusedError and change nothing.

    `keys` are SECRET_KEY and its fallbacks. `report` gets the number of bytes read, first to check
    the file and then to restore it.
    """
    backup = read_backup(path, report)
    for why in why_not_restorable(backup.manifest, _known(), keys, other_key=other_key):
        raise BackupRefusedError(why)
    require_direct_connection(connection)
    target = _look_at(connection)
    for why in why_not_into(target, backup.manifest, replaces=replaces):
        raise BackupRefusedError(why)
    programs = find_programs(connection, newer=False)
    with without_migrate(connection):
        _run(programs, backup, report, replaces=not target.is_empty)
    return backup.manifest


def _known() -> set[str]:
    """Return every migration of this code, with those that others replace."""
    disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    names = {*disk, *(old for migration in disk.values() for old in migration.replaces)}
    return {".".join(name) for name in names}


def _look_at(connection: BaseDatabaseWrapper) -> Target:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), current_setting('server_encoding')")
        name, encoding = cursor.fetchone()
        server = connection.pg_version // 10_000  # type: ignore[attr-defined]
        cursor.execute(_IS_EMPTY)
        if cursor.fetchone() == (True,):
            return Target(name, server, encoding, is_empty=True)
        cursor.execute("SELECT to_regclass('database_identity') IS NOT NULL")
        if cursor.fetchone() == (False,):
            return Target(name, server, encoding, is_empty=False)
        applied = MigrationRecorder(connection).applied_migrations()
        workers = load_activity(cursor).active
        cursor.execute(_SESSIONS)
        (sessions,) = cursor.fetchone()
    migrations = frozenset(".".join(one) for one in applied)
    return Target(
        name, server, encoding, False, migrations=migrations, workers=workers, sessions=sessions
    )


def _run(programs: Programs, backup: BackupFile, report: Report, *, replaces: bool) -> None:
    """Restore in one transaction.

    pg_restore writes a script into psql's input, between our BEGIN and COMMIT. If this process or
    pg_restore dies, no COMMIT follows, and the server rolls back.
    """
    clean = ("--clean", "--if-exists") if replaces else ()
    with tempfile.TemporaryFile() as psql_errors, tempfile.TemporaryFile() as errors:
        started = [
            programs.start(
                *("psql", "--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1"),
                *(f"--dbname={programs.conninfo}", "--command=BEGIN", "--file=-"),
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=psql_errors,
            )
        ]
        try:
            started.append(
                programs.start(
                    *("pg_restore", "--no-owner", "--file=-", *clean),
                    stdin=PIPE,
                    stdout=started[0].stdin,
                    stderr=errors,
                )
            )
            psql, pg_restore = started
            is_complete = feed(pg_restore, backup.chunks(report)) == 0
            end = f"{database_identity.DECLARE_IN_SQL}\nCOMMIT;\n".encode()
            if feed(psql, [end] if is_complete else []) == 0 and is_complete:
                return
        finally:
            for program in started:
                program.kill()
                program.wait()
        # psql ends first if a statement fails, and pg_restore if the dump cannot be read.
        found = read_failure(psql_errors) or read_failure(errors)
    raise BackupRefusedError(
        _("The restore failed, and the database is as before: {error}.").format(error=found)
    )
