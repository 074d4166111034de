"""Locks of `migrate`: one run at a time, and short waits."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext as _

# An arbitrary lock number; no other code in this database uses it.
ONE_RUN = 1_752_395_011

# Set only the limits that this server knows: transaction_timeout is new in PostgreSQL 17.
_NO_LIMITS = """
    SELECT set_config(name, '0', true) FROM pg_settings
    WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout',
                   'transaction_timeout')
"""
# The query does not read the transactions' statements, because they may contain addresses.
_OLDEST_TRANSACTIONS = """
    SELECT pid, round(extract(epoch FROM clock_timestamp() - xact_start)),
           CASE backend_type WHEN 'client backend' THEN state ELSE backend_type END
    FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
    ORDER BY xact_start LIMIT 3
"""


def limit_lock_wait(cursor: CursorWrapper, lock_s: float) -> None:
    """Limit each wait for a lock in this transaction to `lock_s` seconds."""
    cursor.execute(_NO_LIMITS)
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{max(lock_s * 1000, 1):.0f}"])


@contextmanager
def single_run(connection: BaseDatabaseWrapper, lock_s: float) -> Iterator[None]:
    """Keep other runs of `migrate` out while the block runs.

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


def describe_oldest_transactions(connection: BaseDatabaseWrapper) -> str:
    """List the transactions that probably hold the lock, such as “session 17 (…)”."""
    session = _("session {pid} (transaction open for {age} s, {state})")
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST_TRANSACTIONS)
        found = [session.format(pid=pid, age=age, state=state) for pid, age, state in cursor]
    return ", ".join(found) or _("none now")
