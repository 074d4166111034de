"""Let one run of `migrate` work at a time, by a lock that ends with its transaction."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

# Any number that nothing else in this database uses.
ONE_RUN = 1_752_395_011

# transaction_timeout came with PostgreSQL 17, so only what this server knows is set.
_NO_LIMITS = """
    SELECT set_config(name, '0', true) FROM pg_settings
    WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout',
                   'transaction_timeout')
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
