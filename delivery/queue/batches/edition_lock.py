"""The lock on an edition's row, taken before any batch's row."""

from collections.abc import Callable
from typing import TypeVar

from django.db.backends.utils import CursorWrapper

from delivery.queue.short_transaction import short_transaction

Result = TypeVar("Result")


def lock_edition(cursor: CursorWrapper, edition: int) -> str:
    """Lock the edition's row and return its control. `NO KEY`, so that an attempt that refers to
    the edition by its key need not wait."""
    cursor.execute("SELECT control FROM edition WHERE id = %s FOR NO KEY UPDATE", [edition])
    (control,) = cursor.fetchone()
    return str(control)


class EditionLockNeededError(Exception):
    """A transaction without the edition's lock found something that needs it."""


def with_edition_lock_if_needed(
    edition: int, work: Callable[[CursorWrapper, str | None], Result], *, lock_first: bool
) -> Result:
    """Do `work` in a short transaction, and again under the edition's lock if it needs that. `work`
    gets the edition's control, or None without the lock; then it may raise
    `EditionLockNeededError`."""
    for lock in (lock_first, True):
        try:
            with short_transaction() as cursor:
                return work(cursor, lock_edition(cursor, edition) if lock else None)
        except EditionLockNeededError:
            continue
    raise AssertionError("the second time the edition is locked")
