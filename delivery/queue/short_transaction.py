"""The queue's outermost, short transactions, and the lock on an edition's row."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

# The server ends the session of a worker that freezes in a transaction. When the lease expires,
# other workers recover the batch.
LONGEST_SILENCE_S = 5

# The SQLSTATE of `settle_batch` if only a holder of the edition's lock may settle.
NEEDS_EDITION_LOCK = "HM001"

# Functions of the database with the values of their arguments.
Calls = Mapping[str, Mapping[str, Any]]

_is_joined: ContextVar[bool] = ContextVar("_is_joined", default=False)


@contextmanager
def short_transaction() -> Iterator[CursorWrapper]:
    """Open a cursor in a new transaction, or in the transaction already joined.

    `together` and `join_transaction` join a transaction.
    """
    with transaction.atomic(durable=not _is_joined.get()), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{LONGEST_SILENCE_S}s'")
        yield cursor


@contextmanager
def together() -> Iterator[None]:
    """Commit the queue's changes in this block together with the audit trail."""
    with transaction.atomic(durable=not _is_joined.get()), join_transaction():
        yield


def require_transaction() -> None:
    """Raise `TransactionManagementError` if no transaction is open."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError(
            "No transaction is open. Call this in the same transaction as its cause: wrap both in "
            "transaction.atomic()."
        )


@contextmanager
def join_transaction() -> Iterator[None]:
    """Make the queue use the open transaction, whose owner limits its idle time."""
    if not connection.in_atomic_block:
        raise RuntimeError("There is no transaction to join.")
    was = _is_joined.set(True)
    try:
        yield
    finally:
        _is_joined.reset(was)


def call_function(cursor: CursorWrapper, name: str, **values: Any) -> tuple[Any, ...]:
    """Call a function of the database; return its row.

    The functions are in `delivery/queue/sql/`.
    """
    return _call(cursor, {name: values})


def call_alone(name: str, *, then: Calls | None = None, **values: Any) -> tuple[Any, ...]:
    """Call a function as a separate transaction, in one round trip.

    The functions in `then` are called in the same transaction. In the returned row, the results of
    `then` follow the first function's result. Raises `RuntimeError` inside another transaction,
    unless the queue has joined it.
    """
    if connection.in_atomic_block and not _is_joined.get():
        raise RuntimeError("A transaction of the queue must be the outermost one.")
    with connection.cursor() as cursor:
        return _call(cursor, {name: {"alone": True, **values}, **(then or {})})


def _call(cursor: CursorWrapper, calls: Calls) -> tuple[Any, ...]:
    functions = (
        f"{name}({', '.join(f'p_{argument} => %s' for argument in values)})"
        for name, values in calls.items()
    )
    arguments = [value for values in calls.values() for value in values.values()]
    cursor.execute(f"SELECT * FROM {', '.join(functions)}", arguments)  # noqa: S608 -- constants
    row: tuple[Any, ...] = cursor.fetchone()
    return row


Result = TypeVar("Result")


def lock_edition(cursor: CursorWrapper, edition: int) -> str:
    """Lock the edition's row and return its control.

    The lock is `NO KEY`, so an attempt of the edition can be inserted without a wait for the lock.
    """
    cursor.execute("SELECT control FROM edition WHERE id = %s FOR NO KEY UPDATE", [edition])
    (control,) = cursor.fetchone()
    return str(control)


class EditionLockNeededError(Exception):
    """A transaction without the edition's lock found something that needs this lock."""


def with_edition_lock_if_needed(
    edition: int, work: Callable[[CursorWrapper, str | None], Result], *, lock_first: bool
) -> Result:
    """Do `work` in a short transaction, and again under the edition's lock if needed.

    `work` gets the edition's control, or None without the lock. Without the lock, `work` may raise
    `EditionLockNeededError`.
    """
    for lock in (lock_first, True):
        try:
            with short_transaction() as cursor:
                return work(cursor, lock_edition(cursor, edition) if lock else None)
        except EditionLockNeededError:
            continue
    raise AssertionError("the second time the edition is locked")
