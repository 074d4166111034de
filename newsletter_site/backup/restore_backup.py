"""Restore a backup, and declare the restore in the same transaction."""

import re
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from zipfile import BadZipFile

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
from newsletter_site.backup.take_backup import privileges_named, without_migrate

# This query returns whether the database is empty. Objects of extensions, such as the views of
# pg_stat_statements, do not count.
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
_EXTENSION = re.compile(r'[0-9]+; [0-9]+ [0-9]+ (?:EXTENSION -|COMMENT - EXTENSION) "?([^" ]+)')


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

    `keys` are SECRET_KEY and its fallbacks. `report` gets the number of bytes read so far, first
    while the file is checked and then while it is restored.
    """
    backup = read_backup(path, report)
    for why in why_not_restorable(backup.manifest, _known(), keys, other_key=other_key):
        raise BackupRefusedError(why)
    require_direct_connection(connection)
    with privileges_named():
        target = _look_at(connection)
    for why in why_not_into(target, backup.manifest, replaces=replaces):
        raise BackupRefusedError(why)
    programs = find_programs(connection, newer=False)
    with without_migrate(connection):
        try:
            entries = _entries(programs, backup, besides=_extensions(connection))
            _run(programs, backup, entries, report, replaces=not target.is_empty)
        except BadZipFile:
            raise BackupRefusedError(
                _(
                    "{path} was changed after it was checked, and the database is as before. "
                    "Restore again."
                ).format(path=path)
            ) from None
        except OSError as error:
            raise _failed(error.strerror or str(error)) from error
    return backup.manifest


def _known() -> set[str]:
    """Return all migrations of this code, and all migrations that they replace."""
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


def _extensions(connection: BaseDatabaseWrapper) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extname FROM pg_extension")
        return {name for (name,) in cursor.fetchall()}


def _entries(programs: Programs, backup: BackupFile, *, besides: Collection[str]) -> str:
    """Return pg_restore's list of contents without the extensions in `besides`.

    The database already has these extensions. If a superuser owns an extension, our role may not
    even change its comment.
    """
    with tempfile.TemporaryFile() as listed, tempfile.TemporaryFile() as errors:
        with programs.start(
            *("pg_restore", "--list"), stdin=PIPE, stdout=listed, stderr=errors
        ) as program:
            code = feed(program, backup.chunks())
        if code != 0:
            raise _failed(read_failure(errors, "pg_restore", code))
        listed.seek(0)
        lines = listed.read().decode(errors="surrogateescape").splitlines(keepends=True)
    return "".join(
        line for line in lines if not ((found := _EXTENSION.match(line)) and found[1] in besides)
    )


def _failed(error: str) -> BackupRefusedError:
    return BackupRefusedError(
        _("The restore failed, and the database is as before: {error}.").format(error=error)
    )


def _run(
    programs: Programs, backup: BackupFile, entries: str, report: Report, *, replaces: bool
) -> None:
    """Restore the listed entries of the dump in one transaction.

    pg_restore writes a script into psql's input, between our BEGIN and COMMIT. If this process or
    pg_restore dies, no COMMIT follows, and the server rolls back.
    """
    clean = ("--clean", "--if-exists") if replaces else ()
    with (
        tempfile.TemporaryFile() as psql_errors,
        tempfile.TemporaryFile() as errors,
        tempfile.NamedTemporaryFile() as use_list,
    ):
        use_list.write(entries.encode(errors="surrogateescape"))
        use_list.flush()
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
                    f"--use-list={use_list.name}",
                    stdin=PIPE,
                    stdout=started[0].stdin,
                    stderr=errors,
                )
            )
            psql, pg_restore = started
            chunks = backup.chunks(report)
            is_complete = feed(pg_restore, chunks) == 0
            if is_complete:
                # Read the remaining chunks too, because the checksum is compared only at the end of
                # the dump. pg_restore did not need these chunks.
                for _rest in chunks:
                    pass
            end = f"{database_identity.DECLARE_IN_SQL}\nCOMMIT;\n".encode()
            if feed(psql, [end] if is_complete else []) == 0 and is_complete:
                return
            codes = psql.returncode, pg_restore.returncode
        finally:
            for program in started:
                program.kill()
                program.wait()
                # If nothing was written into the pipe, it is still open.
                if program.stdin:
                    with suppress(BrokenPipeError):
                        program.stdin.close()
        # If a statement fails, psql ends first. If the dump is damaged, pg_restore ends first.
        found = read_failure(psql_errors, "psql", codes[0])
        found = found or read_failure(errors, "pg_restore", codes[1])
    raise _failed(found)
