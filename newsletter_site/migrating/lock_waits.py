"""See what a migration waits for and who holds it; a statement is not shown: it holds addresses."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

logger = logging.getLogger(__name__)

# Only a change of the schema asks for these locks. A build or removal that runs CONCURRENTLY waits
# for transactions (virtualxid) instead, and no other statement queues behind it. The migration's
# session cannot be asked for its number: behind a pooler that changes.
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


@contextmanager
def watch_locks(
    connection: BaseDatabaseWrapper,
    on_wait: Callable[[str, bool], None],
    *,
    every_s: float,
    longest_wait_s: float,
) -> Iterator[None]:
    """
    Look during the block at what migrations wait for, from a connection of its own.

    `on_wait` gets a description, and whether other sessions queue behind the migration. A statement
    that waits longer than `longest_wait_s` is cancelled; a lock ends by its timeout before that.
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
