"""`manage.py migrate`: Django's, made to run beside workers that send and pages that answer."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration

from newsletter_site.migrating import guard
from newsletter_site.migrating.lock_holders import Wait
from newsletter_site.migrating.lock_timeouts import Patience
from newsletter_site.migrating.progress import Watch
from newsletter_site.migrating.schema_editor import (
    DoneMeanwhile,
    LeftBehindError,
    UnderWay,
    forget_second_record,
    patient,
)
from newsletter_site.migrating.wait_for_database import in_one_line, may_come

# What may be different the next time: a lock not got in time, a build that was cut because it
# waited, a deadlock; a server that is stopped, starts, or was lost in the middle.
LOCKED, CUT, DEADLOCK = "55P03", "57014", "40P01"
AWAY = frozenset({"57P01", "57P02", "57P03", "08000", "08003", "08006", "08P01"})


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0.01 <= seconds <= 86_400:
        raise CommandError(f"{value!r} is no time to wait; expected seconds from 0.01 to 86400.")
    return seconds


class Command(migrate.Command):
    """Django's command, tried again until it gets through or patience ends."""

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
        """Django's checks ask the database too, so it is waited for before them."""
        self._patience = Patience(_seconds(options["lock_timeout"]), _seconds(options["patience"]))
        self._shown = options["verbosity"]
        self._database = options["database"]
        self._has_begun = self._is_in_line = False
        self._said: object = None
        self._got_on()
        self.stderr.style_func = str  # Django shows all of stderr as errors; this is news.
        self._wait_until_it_answers(connections[self._database])
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"] or options["prune"]:
            super().handle(*args, **options)
            return
        connection = connections[options["database"]]
        watch = Watch(connection, self._patience.lock_s)
        self._under_way = UnderWay(self._patience, watch, self._say_what_a_build_waits_for)
        with closing(watch), patient(connection, self._under_way):
            while not self._is_through(connection, *args, **options):
                self._wait_until_it_answers(connection)
                if self._has_begun:
                    options["verbosity"] = 0  # What Django says before its first line was said.

    # --- Trying ---------------------------------------------------------------------------------

    def _is_through(self, connection: BaseDatabaseWrapper, *args: Any, **options: Any) -> bool:
        """One try, from the reading of what is on record to its end; waits after a failed one."""
        self._under_way.migration = None
        try:
            with guard.at_work(connection, self._patience.lock_s):
                self._has_begun = True
                super().handle(*args, **options)
        except DoneMeanwhile:
            self._break_line(" done meanwhile by another run")
            self._got_on()
            return False
        except LeftBehindError as error:
            reason = f'the index "{error}", which the server still builds for a run that was cut'
        except DatabaseError as error:
            reason = self._reason_to_wait(error)
            if not reason:
                raise
        else:
            return True
        self._break_line(" not yet")
        connection.close()
        self._pause(reason)
        return False

    def _reason_to_wait(self, error: DatabaseError) -> str:
        """What is waited for after this failure; empty if waiting does not help."""
        code = getattr(error.__cause__, "sqlstate", None)
        words = in_one_line(str(error))
        if code == CUT and "statement timeout" in words:
            raise CommandError(
                "An index was not built, because this role may run no statement for so long: "
                "ALTER ROLE … SET statement_timeout = 0 for the role that migrates, and run it "
                "again."
            ) from error
        if code in (LOCKED, CUT, DEADLOCK):
            if self._under_way.migration is None:
                return "another migrate that is at work"
            return str(self._under_way.watch.seen or "a lock")
        if isinstance(error, OperationalError) and (code is None or code in AWAY):
            return f"the database: {words}"
        return ""

    def _wait_until_it_answers(self, connection: BaseDatabaseWrapper) -> None:
        while True:
            try:
                connection.ensure_connection()
            except OperationalError as error:
                words = in_one_line(str(error))
                if "EMBEDDED_POSTGRES" in connection.settings_dict or not may_come(words):
                    raise CommandError(f"The database cannot be used: {words}.") from error
                self._pause(f"the database: {words}")
            else:
                return

    def _pause(self, reason: str) -> None:
        """Say what is waited for, and wait. Raises CommandError once it has been long enough."""
        self._tries += 1
        waited_s = time.monotonic() - self._since
        pause_s = self._patience.pause_s(self._tries, waited_s)
        if pause_s is None:
            raise CommandError(
                f"Gave up after {waited_s:.0f} s of waiting for {reason}. What was applied stays, "
                "nothing is half done: run migrate again once that is over, or with a longer "
                "--patience."
            )
        left_s = self._patience.in_all_s - waited_s
        self.stderr.write(
            f"Waits for {reason}. Tries again in {pause_s:.3g} s, for {left_s:.0f} s at most."
        )
        threading.Event().wait(pause_s)

    def _got_on(self) -> None:
        self._tries = 0
        self._since = time.monotonic()

    # --- What it says ---------------------------------------------------------------------------

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        """Django tells what it does: it is noted for the schema editor, and shown."""
        if action in ("apply_start", "unapply_start"):
            self._under_way.migration = migration
            self._under_way.is_forwards = action == "apply_start"
            self._under_way.is_recorded = False
            self._is_in_line = self._shown >= 1
        elif action in ("apply_success", "unapply_success"):
            if self._under_way.is_recorded:
                forget_second_record(connections[self._database], self._under_way.names)
            self._under_way.migration = None
            self._under_way.watch.seen = None
            self._is_in_line = False
            self._got_on()
        self.verbosity, quiet = self._shown, self.verbosity
        try:
            super().migration_progress_callback(action, migration, fake)
        finally:
            self.verbosity = quiet

    def _say_what_a_build_waits_for(self, wait: Wait) -> None:
        """Once for each thing: it is asked again and again."""
        if (what := (wait.kind, *(holder.pid for holder in wait.holders))) != self._said:
            self._said = what
            self._break_line("")
            self.stderr.write(f"Waits for {wait}. Nobody queues behind it.")

    def _break_line(self, ending: str) -> None:
        """End the line of a migration that was begun and not finished."""
        if self._is_in_line:
            self.stdout.write(ending)
            self._is_in_line = False
