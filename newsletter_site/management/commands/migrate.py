"""`manage.py migrate`: Django's, made to run beside workers that send and pages that answer."""

import time
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connections, transaction
from django.db.migrations import Migration

from newsletter_site.migration_locks import limit_lock_wait, single_run, watch_locks

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0

LOCK_TIMEOUT, DEADLOCK, CANCELLED = "55P03", "40P01", "57014"
# The server stopped or was lost. A failure to connect has no code.
CONNECTION_LOST = (None, "57P01", "57P02", "57P03", "08000", "08003", "08006", "08P01")
# Failures to connect that no waiting changes. A server says them in these words, without a code.
PERMANENT = (
    *("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied"),
    *("permission denied", "not permitted to log in", "certificate"),
)


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0.01 <= seconds <= 86_400:
        raise CommandError(f"{value!r} is no time to wait; expected seconds from 0.01 to 86400.")
    return seconds


class Command(migrate.Command):
    """Django's command with short waits for locks, because other sessions queue behind each."""

    help = (
        "Bring the tables up to date, beside workers that send. Waits for the database, gives up "
        "every lock that does not come soon and tries again; a second run waits for the first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--lock-timeout",
            default=str(settings.MIGRATE_LOCK_TIMEOUT_S),
            help="seconds to wait for one lock, and so for whoever queues behind it "
            "(default: MIGRATE_LOCK_TIMEOUT_S, now %(default)s)",
        )
        parser.add_argument(
            "--patience",
            default=str(settings.MIGRATE_PATIENCE_S),
            help="seconds of trying without getting on, then exit 1 "
            "(default: MIGRATE_PATIENCE_S, now %(default)s)",
        )

    def execute(self, *args: Any, **options: Any) -> Any:
        """Wait for the database first: Django's checks query it too."""
        self._lock_s = _seconds(options["lock_timeout"])
        self._patience_s = _seconds(options["patience"])
        self._connection = connections[options["database"]]
        self._shown = options["verbosity"]
        self._line_is_open = False
        self._note_progress()
        self.stderr.style_func = str  # Django shows all of stderr as errors; this is news.
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

    def _try(self, *args: Any, **options: Any) -> str | None:
        """Apply what is not on record yet. Returns what to wait for if that failed for now."""
        self._wait = ""
        self._verbosity_of_retry = self._shown
        waits_for = "another migrate that is at work"
        try:
            with single_run(self._connection, self._lock_s):
                waits_for = "a lock"
                self._verbosity_of_retry = 0  # Django's first lines are shown once.
                watch = watch_locks(
                    self._connection,
                    self._on_wait,
                    every_s=self._lock_s / 3,
                    longest_wait_s=self._patience_s,
                )
                with watch, ExitStack() as self._transaction:
                    super().handle(*args, **options)
        except DatabaseError as error:
            code = getattr(error.__cause__, "sqlstate", None)
            if code in (LOCK_TIMEOUT, DEADLOCK) or (code == CANCELLED and self._wait):
                return self._wait or waits_for
            if isinstance(error, OperationalError) and code in CONNECTION_LOST:
                return f"the database: {_in_one_line(error)}"
            raise
        return None

    def _on_wait(self, wait: str, blocks_others: bool) -> None:
        # The same sessions are said once; what follows "(" changes with time.
        if not blocks_others and wait.split("(")[0] != self._wait.split("(")[0]:
            self._say(f"Waits for {wait}. Nobody queues behind it.")
        self._wait = wait

    def _wait_for_database(self) -> None:
        while True:
            try:
                self._connection.ensure_connection()
            except OperationalError as error:
                words = _in_one_line(error)
                is_embedded = "EMBEDDED_POSTGRES" in self._connection.settings_dict
                if is_embedded or any(phrase in words for phrase in PERMANENT):
                    raise CommandError(f"The database cannot be used: {words}.") from error
                self._pause(f"the database: {words}")
            else:
                return

    def _pause(self, reason: str) -> None:
        """Say what is waited for, and wait. Raises CommandError once patience has ended."""
        waited_s = time.monotonic() - self._since
        left_s = self._patience_s - waited_s
        if left_s <= 0:
            raise CommandError(
                f"Gave up after {waited_s:.0f} s of waiting for {reason}. What was applied stays, "
                "nothing is half done: run migrate again once that is over, or with a longer "
                "--patience."
            )
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(self._pauses, 20), LONGEST_PAUSE_S, left_s)
        self._pauses += 1
        self._say(
            f"Waits for {reason}. Tries again in {pause_s:.3g} s, for {left_s:.0f} s at most."
        )
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
        """Begin a migration's transaction before Django starts it, and commit it afterwards."""
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
        """Drop what a cut run left behind: the migration is not on record, so it has no index."""
        for operation in migration.operations:
            if isinstance(operation, AddIndexConcurrently):
                name = self._connection.ops.quote_name(operation.index.name)
                with self._connection.cursor() as cursor:
                    cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
