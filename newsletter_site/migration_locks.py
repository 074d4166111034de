"""Locks of `migrate`: allow one run at a time, limit waits, and explain waits."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.utils.translation import gettext as _

from delivery.monitoring.database_fault import sqlstate_of
from newsletter_site.middleware.error_pages import is_unavailable

# An arbitrary lock number; no other code in this database uses it.
ONE_RUN = 1_752_395_011

LOCK_TIMEOUT, DEADLOCK = "55P03", "40P01"
# Connection failures that waiting does not fix. PostgreSQL's client reports these failures without
# a code, so their words are compared.
PERMANENT = (
    *("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied"),
    *("permission denied", "not permitted to log in", "certificate", "PostgreSQL did not start"),
)
# This query sets only limits that the server knows, because transaction_timeout is new in
# PostgreSQL 17.
_ONLY_LOCK_TIMEOUT = """
    SELECT set_config(name, CASE name WHEN 'lock_timeout' THEN %s ELSE '0' END, true)
    FROM pg_settings
    WHERE name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout',
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


class OtherRunError(OperationalError):
    """Another run of `migrate`, or a backup or restore, holds the lock."""


def limit_lock_wait(connection: BaseDatabaseWrapper, lock_s: float) -> None:
    """Limit each wait for a lock in this transaction to `lock_s` seconds."""
    with connection.cursor() as cursor:
        cursor.execute(_ONLY_LOCK_TIMEOUT, [f"{max(lock_s * 1000, 1):.0f}"])


@contextmanager
def single_run(connection: BaseDatabaseWrapper, lock_s: float) -> Iterator[None]:
    """Prevent other runs of `migrate` while the block runs.

    Raise OtherRunError after waiting `lock_s` seconds. A transaction in a separate session holds
    the lock, so the lock also works behind a pooler. Closing this session releases the lock.
    """
    with closing(connection.copy()) as keeper:
        keeper.set_autocommit(False)
        limit_lock_wait(keeper, lock_s)
        try:
            with keeper.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ONE_RUN])
        except OperationalError as error:
            if sqlstate_of(error) != LOCK_TIMEOUT:
                raise
            raise OtherRunError from error
        yield


def why_repeat(error: OperationalError, connection: BaseDatabaseWrapper) -> str:
    """Return what `migrate` waits for after this error, or "" if it must not wait."""
    words = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, OtherRunError):
        return _("Waiting for another migrate to finish.")
    if sqlstate_of(error) in (LOCK_TIMEOUT, DEADLOCK):
        return _("Waiting for a lock. The oldest transactions: {sessions}.").format(
            sessions=_describe_oldest_transactions(connection)
        )
    if is_unavailable(error) and not any(phrase in words for phrase in PERMANENT):
        return _("Waiting for the database: {error}.").format(error=words)
    return ""


def _describe_oldest_transactions(connection: BaseDatabaseWrapper) -> str:
    """List the transactions that probably hold the lock, such as “session 17 (…)”."""
    session = _("session {pid} (transaction open for {age} s, {state})")
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST_TRANSACTIONS)
        found = [session.format(pid=pid, age=age, state=state) for pid, age, state in cursor]
    return ", ".join(found) or _("none now")


def drop_unfinished_indexes(connection: BaseDatabaseWrapper, migration: Migration) -> None:
    """Drop unfinished indexes that an interrupted run of `migrate` left."""
    for operation in migration.operations:
        if isinstance(operation, AddIndexConcurrently):
            name = connection.ops.quote_name(operation.index.name)
            with connection.cursor() as cursor:
                cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
