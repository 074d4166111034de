"""Locks of `migrate`: one run at a time, and the sessions that block a migration."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)

# An arbitrary lock number; no other code in this database uses it.
ONE_RUN = 1_752_395_011

# transaction_timeout is new in PostgreSQL 17, so only settings that this server has are changed.
_NO_LIMITS = """
    SELECT set_config(name, '0', true) FROM pg_settings
    WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout',
                   'transaction_timeout')
"""

# Only a change of the schema requests these locks. CREATE or DROP INDEX CONCURRENTLY waits for
# transactions (virtualxid) instead, and other statements do not queue behind it. The migration's
# process id is unknown, because a pooler changes it. Only the first word of a holder's statement is
# read: the rest may contain addresses.
_WAITS = r"""
    SELECT CASE wanted.locktype WHEN 'virtualxid' THEN '' ELSE wanted.relation::regclass::text END,
           blocking.pid,
           round(extract(epoch FROM clock_timestamp() - holder.xact_start)),
           CASE
               WHEN holder.backend_type <> 'client backend' THEN holder.backend_type
               ELSE coalesce(holder.state, '')
           END,
           upper(substring(holder.query FROM '^\s*([A-Za-z]+)\M'))
    FROM pg_locks AS wanted
    JOIN pg_stat_activity AS waiting
      ON waiting.pid = wanted.pid AND waiting.datname = current_database()
    CROSS JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(wanted.pid)) AS pid) AS blocking
    LEFT JOIN pg_stat_activity AS holder ON holder.pid = blocking.pid
    WHERE NOT wanted.granted AND wanted.locktype IN ('virtualxid', 'relation')
      AND wanted.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
    ORDER BY holder.xact_start NULLS LAST, blocking.pid
    LIMIT 5
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """A session that a migration waits for.

    `state` is its state, or its type of backend.
    """

    pid: int
    age_s: int | None
    state: str
    statement: str | None

    def describe(self) -> str:
        """Describe the session, such as “session 17 (transaction open for 9 s)”."""
        if self.age_s is None:
            return _("session {pid}").format(pid=self.pid)
        statement = self.statement or _("a statement")
        match self.state:
            case "active":
                text = _("session {pid} (transaction open for {age} s, running {statement})")
            case "idle in transaction":
                text = _("session {pid} (transaction open for {age} s, idle after {statement})")
            case "idle in transaction (aborted)":
                text = _("session {pid} (transaction open for {age} s, idle after an error)")
            case "" | "idle":
                text = _("session {pid} (transaction open for {age} s)")
            case _other:
                text = _("session {pid} (transaction open for {age} s, {state})")
        return text.format(pid=self.pid, age=self.age_s, statement=statement, state=self.state)


@dataclass(frozen=True, slots=True)
class LockWait:
    """A wait of a migration for a lock on `table`, or for older transactions."""

    table: str
    holders: tuple[Holder, ...]

    @property
    def blocks_others(self) -> bool:
        """Whether other sessions queue behind the migration."""
        return bool(self.table)

    @property
    def identity(self) -> tuple[str, tuple[int, ...]]:
        return self.table, tuple(holder.pid for holder in self.holders)

    def sentence(self) -> str:
        """Describe the wait for people."""
        sessions = ", ".join(holder.describe() for holder in self.holders)
        if not self.table:
            return _("Waiting for older transactions: {sessions}.").format(sessions=sessions)
        return _('Waiting for a lock on table "{table}", held by {sessions}.').format(
            table=self.table, sessions=sessions
        )


def limit_lock_wait(cursor: CursorWrapper, lock_s: float) -> None:
    """Limit each wait for a lock in this transaction to `lock_s` seconds.

    Set no other limit.
    """
    cursor.execute(_NO_LIMITS)
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{max(lock_s * 1000, 1):.0f}"])


@contextmanager
def single_run(connection: BaseDatabaseWrapper, lock_s: float) -> Iterator[None]:
    """Keep other runs out.

    Raise OperationalError (55P03) after waiting `lock_s` seconds.
    """
    keeper = connection.copy()
    try:
        keeper.set_autocommit(False)
        with keeper.cursor() as cursor:
            limit_lock_wait(cursor, lock_s)
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ONE_RUN])
        yield
    finally:
        with suppress(Error):  # A stopped server has released the lock.
            keeper.rollback()
        keeper.close()


@contextmanager
def watch_locks(
    connection: BaseDatabaseWrapper,
    on_wait: Callable[[LockWait], None],
    *,
    every_s: float,
    longest_wait_s: float,
) -> Iterator[None]:
    """Watch on a separate connection which sessions block migrations.

    `on_wait` gets each wait. A wait for a lock has a shorter time-out. Any statement that waits
    longer than `longest_wait_s` is cancelled.
    """
    onlooker = connection.copy()
    onlooker.inc_thread_sharing()
    has_ended = threading.Event()

    def look() -> None:
        since: float | None = None
        try:
            while not has_ended.wait(every_s):
                with onlooker.cursor() as cursor:
                    wait = _read_wait(cursor)
                if wait is None:
                    since = None
                    continue
                since = since or time.monotonic()
                on_wait(wait)
                driver = connection.connection
                if driver is not None and time.monotonic() - since > longest_wait_s:
                    driver.cancel_safe()
        except Error as error:
            # The migration continues, but the run cannot say what it waits for.
            logger.debug("watching the locks of a migration failed: %s", type(error).__name__)
        finally:
            onlooker.close()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def _read_wait(cursor: CursorWrapper) -> LockWait | None:
    cursor.execute(_WAITS)
    rows = cursor.fetchall()
    if not rows:
        return None
    table = rows[0][0]
    return LockWait(table, tuple(Holder(*row[1:]) for row in rows if row[0] == table))
