"""`manage.py migrate`: Django's command, safe while workers and web processes run."""

import time
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import OperationalError, connections, transaction
from django.db.migrations import Migration
from django.utils.translation import gettext as _

from newsletter_site import migration_locks
from newsletter_site.turn_jit_off import turn_jit_off

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0


class Command(migrate.Command):
    """Django's command with short waits for locks: each wait blocks other sessions."""

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
        """Repeat Django's command while a lock or the database is not available."""
        self._lock_s, self._connection = options["lock_timeout"], connections[options["database"]]
        self._since_s, self._pause_s = time.monotonic(), FIRST_PAUSE_S
        self._shown = self._shown_first = options["verbosity"]
        self.stderr.style_func = str  # Django would colour stderr as an error.
        while True:
            try:
                # Wait for the database before Django's checks, because they query it too.
                self._connection.ensure_connection()
                return super().execute(*args, **options)
            except OperationalError as error:
                reason = migration_locks.why_repeat(error, self._connection)
                if not reason:
                    raise
            self._connection.close()
            self._pause(reason, options["patience"])

    def handle(self, *args: Any, **options: Any) -> None:
        self.requires_system_checks = []  # The checks have passed, so a repeated run skips them.
        if options["plan"] or options["check_unapplied"] or options["prune"]:
            super().handle(*args, **options)
            return
        with (
            migration_locks.single_run(self._connection, self._lock_s),
            ExitStack() as self._transaction,
        ):
            # Show Django's first lines only once.
            options["verbosity"], self._shown_first = self._shown_first, 0
            super().handle(*args, **options)
        turn_jit_off(self._connection)

    def _pause(self, reason: str, patience_s: float) -> None:
        """Print the reason and wait.

        Raise CommandError if the time of `--patience` has passed.
        """
        waited_s = time.monotonic() - self._since_s
        left_s = patience_s - waited_s
        if left_s <= 0:
            raise CommandError(
                _(
                    "Gave up after {n} s. {reason} Applied migrations stay, and none is half done. "
                    "Run migrate again later, or with a longer --patience."
                ).format(n=f"{waited_s:.0f}", reason=reason)
            )
        pause_s = min(self._pause_s, LONGEST_PAUSE_S, left_s)
        self._pause_s *= 2
        retry = _("Next try in {pause} s, the last one within {left} s.").format(
            pause=f"{pause_s:.3g}", left=f"{left_s:.0f}"
        )
        self.stderr.write(f"{reason} {retry}")
        time.sleep(pause_s)

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        """Open a transaction before a migration starts, and commit it after the migration."""
        if action in ("apply_success", "unapply_success"):
            self._transaction.close()
            self._since_s, self._pause_s = time.monotonic(), FIRST_PAUSE_S
        self.verbosity = self._shown
        super().migration_progress_callback(action, migration, fake)
        if migration is not None and action in ("apply_start", "unapply_start"):
            if migration.atomic:
                self._transaction.enter_context(transaction.atomic(using=self._connection.alias))
                migration_locks.limit_lock_wait(self._connection, self._lock_s)
            elif action == "apply_start" and not fake:
                migration_locks.drop_unfinished_indexes(self._connection, migration)
