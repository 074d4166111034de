"""Locks of `migrate`: one run at a time, and who holds what a migration waits for."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

logger = logging.getLogger(__name__)

# Any number that nothing else in this database uses.
ONE_RUN = 1_752_395_011

# transaction_timeout came with PostgreSQL 17, so only what this server knows is set.
_NO_LIMITS = """
    SELECT set_config(name, '0', true) FROM pg_settings
    WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout',
                   'transaction_timeout')
"""

# Only a change of the schema asks for these locks. A build or removal that runs CONCURRENTLY waits
# for transactions (virtualxid) instead, and no other statement queues behind it. The migration's
# session cannot be asked for its number: behind a pooler that changes. The words of a holder's
# statement are not shown: they hold addresses.
_WAITS = r"""
    SELECT CASE wanted.locktype
               WHEN 'virtualxid' THEN 'a transaction that began before it'
               ELSE format('a lock on table "%s"', wanted.relation::regclass)
           END,
           wanted.locktype <> 'virtualxid',
           concat_ws(', ',
               'its transaction open for '
                   || round(extract(epoch FROM clock_timestamp() - holder.xact_start)) || ' s',
               CASE
                   WHEN holder.backend_type <> 'client backend' THEN holder.backend_type
                   WHEN holder.state = 'active' THEN 'in ' || work
                   WHEN holder.state = 'idle in transaction' THEN 'idle after ' || work
                   WHEN holder.state = 'idle in transaction (aborted)' THEN 'idle after a failure'
               END),
           blocking.pid
    FROM pg_locks AS wanted
    JOIN pg_stat_activity AS waiting
      ON waiting.pid = wanted.pid AND waiting.datname = current_database()
    CROSS JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(wanted.pid)) AS pid) AS blocking
    LEFT JOIN pg_stat_activity AS holder ON holder.pid = blocking.pid
    CROSS JOIN LATERAL (
        SELECT coalesce(upper(substring(holder.query FROM '^\s*([A-Za-z]+)\M')), 'a statement')
    ) AS kind (work)
    WHERE NOT wanted.granted AND wanted.locktype IN ('virtualxid', 'relation')
      AND wanted.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
    ORDER BY holder.xact_start NULLS LAST, blocking.pid
    LIMIT 5
"""


def limit_lock_wait(cursor: CursorWrapper, lock_s: float) -> None:
    """In this transaction wait for no lock longer than `lock_s` seconds; set no other limit."""
    cursor.execute(_NO_LIMITS)
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{max(lock_s * 1000, 1):.0f}"])


@contextmanager
def single_run(connection: BaseDatabaseWrapper, lock_s: float) -> Iterator[None]:
    """Keep every other run out. Raises OperationalError (55P03) after waiting `lock_s` seconds."""
    keeper = connection.copy()
    try:
        keeper.set_autocommit(False)
        with keeper.cursor() as cursor:
            limit_lock_wait(cursor, lock_s)
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ONE_RUN])
        yield
    finally:
        with suppress(Error):  # A lost server took the lock with it.
            keeper.rollback()
        keeper.close()


@contextmanager
def watch_locks(
    connection: BaseDatabaseWrapper,
    on_wait: Callable[[str, bool], None],
    *,
    every_s: float,
    longest_wait_s: float,
) -> Iterator[None]:
    """Look during the block at what migrations wait for, from a connection of its own. `on_wait`
    gets a description, and whether other sessions queue behind the migration. A statement that
    waits longer than `longest_wait_s` is cancelled; a lock ends by its timeout before that."""
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
                on_wait(*wait)
                driver = connection.connection
                if driver is not None and time.monotonic() - since > longest_wait_s:
                    driver.cancel_safe()
        except Error as error:
            # The migration continues; the run cannot say what it waits for.
            logger.debug("the watch of a migration ended: %s", type(error).__name__)
        finally:
            onlooker.close()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def _read_wait(cursor: CursorWrapper) -> tuple[str, bool] | None:
    cursor.execute(_WAITS)
    rows = cursor.fetchall()
    if not rows:
        return None
    what, blocks_others = rows[0][:2]
    holders = [
        f"session {pid}" + (f" ({work})" if work else "")
        for *wait, work, pid in rows
        if wait == [what, blocks_others]
    ]
    return f"{what}: {', '.join(holders)}", blocks_others
