"""`manage.py migrate`: Django's command, safe while workers and web processes run."""

import time
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.utils.translation import gettext as _

from newsletter_site.migration_locks import LockWait, limit_lock_wait, single_run, watch_locks

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0

LOCK_TIMEOUT, DEADLOCK, CANCELLED = "55P03", "40P01", "57014"
# The server stopped, or the connection was lost. A failure to connect has no code.
CONNECTION_LOST = (None, "57P01", "57P02", "57P03", "08000", "08003", "08006", "08P01")
# Connection failures that waiting does not fix. They have no code, only these words.
PERMANENT = (
    *("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied"),
    *("permission denied", "not permitted to log in", "certificate"),
)

_JIT_OF_DATABASE = """
    SELECT datname, pg_has_role(datdba, 'USAGE'), EXISTS (
        SELECT FROM pg_db_role_setting, unnest(setconfig) AS setting
        WHERE setdatabase IN (0, pg_database.oid) AND setting LIKE 'jit=%'
          AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user)))
    FROM pg_database WHERE datname = current_database()
"""


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0.01 <= seconds <= 86_400:
        raise CommandError(
            _("“{value}” is not a valid time. Use seconds from 0.01 to 86400.").format(value=value)
        )
    return seconds


class Command(migrate.Command):
    """Django's command with short lock waits, as other sessions queue behind them."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.description = _(
            "Apply database migrations, also while workers are sending. The command waits for the "
            "database. If a lock is not free soon, it stops waiting for the lock and tries again "
            "later. A second run waits for the first."
        )
        parser.add_argument(
            "--lock-timeout",
            default=str(settings.MIGRATE_LOCK_TIMEOUT_S),
            help=_(
                "seconds to wait for one lock, while other sessions queue behind it (default: "
                "MIGRATE_LOCK_TIMEOUT_S, now %(default)s)"
            ),
        )
        parser.add_argument(
            "--patience",
            default=str(settings.MIGRATE_PATIENCE_S),
            help=_(
                "seconds without progress before the command gives up with exit code 1 (default: "
                "MIGRATE_PATIENCE_S, now %(default)s)"
            ),
        )

    def execute(self, *args: Any, **options: Any) -> Any:
        """Wait for the database first, because Django's checks query it too."""
        self._lock_s = _seconds(options["lock_timeout"])
        self._patience_s = _seconds(options["patience"])
        self._connection = connections[options["database"]]
        self._shown = options["verbosity"]
        self._line_is_open = False
        self._note_progress()
        self.stderr.style_func = str  # Django shows stderr as errors. This is progress.
        self._wait_for_database()
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"] or options["prune"]:
            super().handle(*args, **options)
            return
        while (reason := self._try(*args, **options)) is not None:
            self._connection.close()
            self._pause(reason)
            self._wait_for_database()
            options["verbosity"] = self._verbosity_of_retry
        turn_jit_off(self._connection)

    def _try(self, *args: Any, **options: Any) -> str | None:
        """Apply the missing migrations. Return what blocks them if the run must try again."""
        self._wait: LockWait | None = None
        self._reported: set[int] = set()
        self._verbosity_of_retry = self._shown
        waiting_for = _("Waiting for another migrate to finish.")
        try:
            with single_run(self._connection, self._lock_s):
                waiting_for = _("Waiting for a lock.")
                self._verbosity_of_retry = 0  # Show Django's first lines only once.
                watch = watch_locks(
                    self._connection, self._on_wait, self._lock_s / 3, self._patience_s
                )
                with watch, ExitStack() as self._transaction:
                    super().handle(*args, **options)
        except DatabaseError as error:
            code = getattr(error.__cause__, "sqlstate", None)
            if code in (LOCK_TIMEOUT, DEADLOCK) or (code == CANCELLED and self._wait):
                return self._wait.sentence() if self._wait else waiting_for
            if isinstance(error, OperationalError) and code in CONNECTION_LOST:
                return _waiting_for_database(error)
            raise
        return None

    def _on_wait(self, wait: LockWait) -> None:
        pids = {pid for pid, *_rest in wait.sessions}
        # Report the same sessions only once.
        if not wait.table and pids != self._reported:
            self._say("{} {}".format(wait.sentence(), _("Other sessions do not wait.")))
            self._reported = pids
        self._wait = wait

    def _wait_for_database(self) -> None:
        while True:
            try:
                self._connection.ensure_connection()
            except OperationalError as error:
                words = _in_one_line(error)
                is_embedded = "EMBEDDED_POSTGRES" in self._connection.settings_dict
                if is_embedded or any(phrase in words for phrase in PERMANENT):
                    sentence = _("The database cannot be used: {error}. Check DATABASE_URL.")
                    raise CommandError(sentence.format(error=words)) from error
                self._pause(_waiting_for_database(error))
            else:
                return

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
        self._say(f"{reason} {retry}")
        time.sleep(pause_s)

    def _note_progress(self) -> None:
        self._since = time.monotonic()
        self._pauses = 0

    def _say(self, sentence: str) -> None:
        if self._line_is_open:
            self.stdout.write("")
            self._line_is_open = False
        self.stderr.write(sentence)

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        """Open a transaction before a migration starts, and commit it afterwards."""
        if action in ("apply_success", "unapply_success"):
            self._transaction.close()
            self._note_progress()
            self._line_is_open = False
        self.verbosity = self._shown
        super().migration_progress_callback(action, migration, fake)
        if migration is not None and action in ("apply_start", "unapply_start"):
            self._line_is_open = self._shown >= 1
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

    Homing's statements are short, and compiling one takes longer than running it. A setting of the
    database needs no session state, so it works behind a pooler. A dump does not contain it. If the
    role does not own the database, it changes its own setting there. A value that an operator chose
    for the database or the role stays.
    """
    with connection.cursor() as cursor:
        cursor.execute(_JIT_OF_DATABASE)
        database, owns_database, is_chosen = cursor.fetchone()
        if not is_chosen:
            name = connection.ops.quote_name(database)
            whose = f"DATABASE {name}" if owns_database else f"ROLE CURRENT_USER IN DATABASE {name}"
            cursor.execute(f"ALTER {whose} SET jit = off")


def _waiting_for_database(error: Exception) -> str:
    return _("Waiting for the database: {error}.").format(error=_in_one_line(error))


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
