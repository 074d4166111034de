"""Back up the database into a file, while the site and workers use the database."""

import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

from django.db import ProgrammingError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.backup_file import CHUNK, Report, new_file, write_backup
from newsletter_site.backup.manifest import Manifest, fingerprint
from newsletter_site.backup.postgres_programs import (
    Programs,
    find_programs,
    read_failure,
    require_direct_connection,
)
from newsletter_site.migration_locks import OtherRunError, limit_lock_wait, single_run
from newsletter_site.operations.release import running_release

LOCK_S = 0.1
NO_PRIVILEGE = "42501"


def take_backup(
    path: Path,
    connection: BaseDatabaseWrapper,
    *,
    keys: Sequence[str],
    replaces: bool,
    report: Report,
) -> Manifest:
    """Write a backup to `path`, or raise BackupRefusedError.

    `keys` are SECRET_KEY and its fallbacks. `report` gets the number of bytes written so far.
    """
    require_direct_connection(connection)
    programs = find_programs(connection, newer=True)
    with without_migrate(connection):
        pass  # no `migrate` runs now, and a later `migrate` waits until the dump ends
    with (
        new_file(path, replaces=replaces) as file,
        privileges_named(),
        transaction.atomic(using=connection.alias),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        limit_lock_wait(connection, LOCK_S)
        # pg_dump uses the snapshot of this transaction, so the dump and the manifest show the same
        # moment.
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        manifest = _describe(cursor, keys, programs)
        with closing(_dump(programs, snapshot)) as dump:
            write_backup(file, manifest, dump, report)
        return manifest


@contextmanager
def without_migrate(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Prevent `migrate` and restores; raise BackupRefusedError if one is running."""
    with ExitStack() as stack:
        try:
            stack.enter_context(single_run(connection, LOCK_S))
        except OtherRunError as error:
            raise BackupRefusedError(
                _("migrate or a restore is running on this database. Try again when it has ended.")
            ) from error
        yield


@contextmanager
def privileges_named() -> Iterator[None]:
    """Raise BackupRefusedError if the role may not read a table."""
    try:
        yield
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != NO_PRIVILEGE:
            raise
        found = str(error).splitlines()[0]
        raise BackupRefusedError(
            _("{error}. Name the role that owns the tables in DATABASE_URL.").format(error=found)
        ) from error


def _describe(cursor: CursorWrapper, keys: Sequence[str], programs: Programs) -> Manifest:
    applied = {".".join(name) for name in MigrationRecorder(cursor.db).applied_migrations()}
    cursor.execute("SELECT to_regclass('database_identity') IS NOT NULL")
    if cursor.fetchone() == (False,):
        raise BackupRefusedError(
            _("The database has no tables of Homing. Check DATABASE_URL, or run ./homing migrate.")
        )
    cursor.execute(
        """
        SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
               current_setting('server_version'),
               current_setting('server_encoding'), current_database(), system_identifier
        FROM this_database_1()
        """
    )
    made_at, server, encoding, database, system_identifier = cursor.fetchone()
    return Manifest(
        made_at=made_at,
        release=str(running_release()),
        migrations=tuple(sorted(applied)),
        server=server,
        least_server=programs.major,
        encoding=encoding,
        database=database,
        system_identifier=system_identifier,
        keys=tuple(map(fingerprint, keys)),
    )


def _dump(programs: Programs, snapshot: str) -> Generator[bytes]:
    """Yield a dump from a pipe, so that pg_dump ends when this process ends."""
    with tempfile.TemporaryFile() as errors:
        pg_dump = programs.start(
            *("pg_dump", "--format=custom", "--no-password", f"--snapshot={snapshot}"),
            f"--dbname={programs.conninfo}",
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=errors,
        )
        try:
            while pg_dump.stdout and (chunk := pg_dump.stdout.read(CHUNK)):
                yield chunk
            if (code := pg_dump.wait()) != 0:
                found = read_failure(errors, "pg_dump", code)
                raise BackupRefusedError(_("pg_dump failed: {error}.").format(error=found))
        finally:
            pg_dump.kill()
            pg_dump.communicate()
