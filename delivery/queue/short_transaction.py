"""The transactions of the queue: outermost and short."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

# The server ends the session of a worker that froze in a transaction; the lease frees the batch.
LONGEST_SILENCE_S = 5

_is_joined: ContextVar[bool] = ContextVar("_is_joined", default=False)


@contextmanager
def short_transaction() -> Iterator[CursorWrapper]:
    """A cursor in a transaction of its own, or in that of `together` or `join_transaction`."""
    with transaction.atomic(durable=not _is_joined.get()), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{LONGEST_SILENCE_S}s'")
        yield cursor


@contextmanager
def _joined() -> Iterator[None]:
    was = _is_joined.set(True)
    try:
        yield
    finally:
        _is_joined.reset(was)


@contextmanager
def together() -> Iterator[None]:
    """Commit what the queue does in here with what is written beside it: the audit trail."""
    with transaction.atomic(durable=not _is_joined.get()), _joined():
        yield


@contextmanager
def join_transaction() -> Iterator[None]:
    """Make the queue use the transaction that is open already, which bounds its silence itself."""
    if not connection.in_atomic_block:
        raise RuntimeError("There is no transaction to join.")
    with _joined():
        yield
