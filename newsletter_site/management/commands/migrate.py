"""`manage.py migrate`: Django's command, safe while workers and web processes run."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.utils.translation import gettext as _

from newsletter_site.migration_locks import (
    describe_oldest_transactions,
    limit_lock_wait,
    single_run,
)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0

LOCK_TIMEOUT, DEADLOCK = "55P03", "40P01"
# SQLSTATE codes of a stopped server or a lost connection. None means that connecting failed.
CONNECTION_LOST = (None, "57P01", "57P02", "57P03", "08000", "08003", "08006", "08P01")
# Connection failures that waiting does not fix. PostgreSQL's client gives them no code, only these
# words.
PERMANENT = (
    *("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied"),
    *("permission denied", "not permitted to log in", "certificate", "PostgreSQL did not start"),
)

_JIT_OF_DATABASE = """
    SELECT datname, pg_has_role(datdba, 'USAGE'), EXISTS (
        SELECT FROM pg_db_role_setting, unnest(setconfig) AS setting
        WHERE setdatabase IN (0, pg_database.oid) AND setting LIKE 'jit=%'
          AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user)))
    FROM pg_database WHERE datname = current_database()
"""


class Command(migrate.Command):
    """Django's command with short lock waits, because other sessions queue behind it."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.description = _(
            "Apply database migrations, also while workers are sending. The command waits for the "
            "database. If a lock is not free soon, it stops waiting for the lock and tries again "
            "later. A second run waits for the first."
        )
        parser.add_argument(
            "--lock-timeout",
            type=float,
            default=settings.MIGRATE_LOCK_TIMEOUT_S,
            help=_(
                "seconds to wait for one lock, while other sessions queue behind it (default: "
                "MIGRATE_LOCK_TIMEOUT_S, now %(default)s)"
            ),
        )
        parser.add_argument(
            "--patience",
            type=float,
            default=settings.MIGRATE_PATIENCE_S,
            help=_(
                "seconds without progress before the command gives up with exit code 1 (default: "
                "MIGRATE_PATIENCE_S, now %(default)s)"
            ),
        )

    def execute(self, *args: Any, **options: Any) -> Any:
        """Wait for the database before Django's checks, because they query it too."""
        self._lock_s, self._patience_s = options["lock_timeout"], options["patience"]
        self._connection = connections[options["database"]]
        self._shown = self._shown_first = options["verbosity"]
        self.stderr.style_func = str  # Django would colour stderr as an error.
        self._repeat(self._connection.ensure_connection)
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"] or options["prune"]:
            super().handle(*args, **options)
            return
        self._repeat(lambda: self._migrate(*args, **options))
        turn_jit_off(self._connection)

    def _migrate(self, *args: Any, **options: Any) -> None:
        self._is_only_run = False
        with single_run(self._connection, self._lock_s), ExitStack() as self._transaction:
            self._is_only_run = True
            # Show Django's first lines only once.
            options["verbosity"], self._shown_first = self._shown_first, 0
            super().handle(*args, **options)

    def _repeat(self, work: Callable[[], object]) -> None:
        """Do the work, and repeat it while a lock or the database is not available."""
        self._note_progress()
        while True:
            try:
                work()
            except OperationalError as error:
                reason = self._why_repeat(error)
                if not reason:
                    raise
            else:
                return
            self._connection.close()
            self._pause(reason)

    def _why_repeat(self, error: OperationalError) -> str:
        """Return what the run waits for, or "" if waiting does not help."""
        code = getattr(error.__cause__, "sqlstate", None)
        words = " ".join(str(error).split()).rstrip(".")
        if code in CONNECTION_LOST and not any(phrase in words for phrase in PERMANENT):
            return _("Waiting for the database: {error}.").format(error=words)
        if code not in (LOCK_TIMEOUT, DEADLOCK):
            return ""
        if not self._is_only_run:
            return _("Waiting for another migrate to finish.")
        return _("Waiting for a lock. The oldest transactions: {sessions}.").format(
            sessions=describe_oldest_transactions(self._connection)
        )

    def _pause(self, reason: str) -> None:
        """Print the reason and wait. Raise CommandError when `--patience` is used up."""
        waited_s = time.monotonic() - self._since
        left_s = self._patience_s - waited_s
        if left_s <= 0:
            raise CommandError(
                _(
                    "Gave up after {n} s. {reason} Applied migrations stay, and none is half done. "
                    "Run migrate again later, or with a longer --patience."
                ).format(n=f"{waited_s:.0f}", reason=reason)
            )
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(self._pauses, 20), LONGEST_PAUSE_S, left_s)
        self._pauses += 1
        retry = _("Next try in {pause} s, the last one within {left} s.").format(
            pause=f"{pause_s:.3g}", left=f"{left_s:.0f}"
        )
        self.stderr.write(f"{reason} {retry}")
        time.sleep(pause_s)

    def _note_progress(self) -> None:
        self._since = time.monotonic()
        self._pauses = 0

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        """Open a transaction before a migration starts, and commit it afterwards."""
        if action in ("apply_success", "unapply_success"):
            self._transaction.close()
            self._note_progress()
        self.verbosity = self._shown
        super().migration_progress_callback(action, migration, fake)
        if migration is not None and action in ("apply_start", "unapply_start"):
            if migration.atomic:
                self._transaction.enter_context(transaction.atomic(using=self._connection.alias))
                with self._connection.cursor() as cursor:
                    limit_lock_wait(cursor, self._lock_s)
            elif action == "apply_start" and not fake:
                self._drop_unfinished_indexes(migration)

    def _drop_unfinished_indexes(self, migration: Migration) -> None:
        """Drop the unfinished indexes that an interrupted run left."""
        for operation in migration.operations:
            if isinstance(operation, AddIndexConcurrently):
                name = self._connection.ops.quote_name(operation.index.name)
                with self._connection.cursor() as cursor:
                    cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def turn_jit_off(connection: BaseDatabaseWrapper) -> None:
    """Turn JIT compilation off for new connections to this database.

    Homing's statements are short, and compiling a statement takes longer than running it. The
    setting belongs to the database and not to a session, so it also works behind a pooler. A dump
    does not contain the setting. If our role does not own the database, the setting is made for
    this role in this database. A value that an operator chose for the database or the role stays.
    """
    with connection.cursor() as cursor:
        cursor.execute(_JIT_OF_DATABASE)
        database, owns_database, is_chosen = cursor.fetchone()
        if not is_chosen:
            name = connection.ops.quote_name(database)
            whose = f"DATABASE {name}" if owns_database else f"ROLE CURRENT_USER IN DATABASE {name}"
            cursor.execute(f"ALTER {whose} SET jit = off")
