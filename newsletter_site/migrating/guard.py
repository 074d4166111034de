"""
One run of `migrate` at a time, by locks that end with a transaction.

They hold behind a pooler and are gone the moment their process is. `at_work` is held for a whole
run on a connection of its own, and keeps a second run from beginning. Each migration takes
`the_next` in its own transaction as well: what is true then is true until it is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

# Any two numbers that nothing else in this database uses.
OURS = 1_752_395_011
AT_WORK, THE_NEXT = 1, 2

# A run may take long on one migration, and its guard is silent meanwhile. Only what this server
# knows is set: transaction_timeout came with version 17.
_NO_LIMITS = """
    SELECT set_config(name, '0', true) FROM pg_settings
    WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout',
                   'transaction_timeout')
"""


def little_patience(cursor: CursorWrapper, lock_s: float) -> None:
    """In this transaction: wait for no lock longer than `lock_s` seconds, and work without end."""
    cursor.execute(_NO_LIMITS)
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{max(lock_s * 1000, 1):.0f}"])


def the_next(cursor: CursorWrapper) -> None:
    """Nobody else's migration begins before this transaction ends."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [OURS, THE_NEXT])


@contextmanager
def at_work(connection: BaseDatabaseWrapper, lock_s: float) -> Iterator[None]:
    """
    Nobody else migrates during the block. Raises OperationalError (55P03) if somebody does for
    longer than `lock_s` seconds.
    """
    keeper = connection.copy()
    try:
        keeper.set_autocommit(False)
        with keeper.cursor() as cursor:
            little_patience(cursor, lock_s)
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [OURS, AT_WORK])
        yield
    finally:
        try:
            keeper.rollback()
        except Error:
            pass  # It went with the server; so did its lock.
        finally:
            keeper.close()
