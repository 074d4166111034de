"""Locks of `migrate`: one run at a time, and the sessions that block a migration."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

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
           CASE WHEN holder.backend_type <> 'client backend' THEN holder.backend_type
                WHEN holder.state = 'active' THEN 'running '
                WHEN holder.state LIKE 'idle in%' THEN 'idle after ' ELSE 'idle' END
           || CASE WHEN holder.backend_type = 'client backend' AND holder.state <> 'idle'
                   THEN upper(substring(holder.query FROM '^\s*([A-Za-z]+)\M')) ELSE '' END
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


class LockWait(NamedTuple):
    """A migration waits for a lock on `table`; if empty, for older transactions.

    `sessions` has process id, age of the transaction in seconds and state of those that block.
    """

    table: str
    sessions: list[tuple[int, int | None, str | None]]

    def sentence(self) -> str:
        """Describe the wait, such as “… held by session 17 (transaction open for 9 s, …)”."""
        known = _("session {pid} (transaction open for {age} s, {state})")
        sessions = ", ".join(
            (known if state else _("session {pid}")).format(pid=pid, age=age, state=state)
            for pid, age, state in self.sessions
        )
        if not self.table:
            return _("Waiting for older transactions: {sessions}.").format(sessions=sessions)
        return _('Waiting for a lock on table "{table}", held by {sessions}.').format(
            table=self.table, sessions=sessions
        )


def limit_lock_wait(cursor: CursorWrapper, lock_s: float) -> None:
    """Limit only each wait for a lock in this transaction, to `lock_s` seconds."""
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
    every_s: float,
    most_s: float,
) -> Iterator[None]:
    """Tell `on_wait` which sessions block migrations, from a connection of its own.

    A wait for a lock has a shorter time-out. Any statement that waits longer than `most_s` seconds
    is cancelled.
    """
    onlooker = connection.copy()
    onlooker.inc_thread_sharing()
    has_ended = threading.Event()

    def look() -> None:
        since: float | None = None
        try:
            while not has_ended.wait(every_s):
                with onlooker.cursor() as cursor:
                    cursor.execute(_WAITS)
                    rows = cursor.fetchall()
                since = since or time.monotonic() if rows else None
                if since is None:
                    continue
                on_wait(LockWait(rows[0][0], [row[1:] for row in rows if row[0] == rows[0][0]]))
                if connection.connection is not None and time.monotonic() - since > most_s:
                    connection.connection.cancel_safe()
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
