"""
Who works on an import: taken for a limited time, kept alive piece by piece, given back.

A process holds an import under a lease that each piece renews. Whoever was away for longer than
the lease has lost it, and the guard in front of every piece sees to it that they write nothing
more. All times are the database's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

SHORTEST_LEASE_S = 2.0  # a piece takes some tenths of a second
# What is taken up so often without coming a piece further ends the process or fails in it.
MOST_SETBACKS = 10


class LostError(Exception):
    """Somebody else has the import now, or it is gone. Nothing more may be written."""


@dataclass(frozen=True, slots=True)
class Hold:
    """An import in the hands of one process. `epoch` proves it: a later hold has a higher one."""

    import_id: int
    owner: UUID
    epoch: int
    state: str
    setbacks: int

    @property
    def is_check(self) -> bool:
        """Whether it is only looked at what would happen."""
        return self.state == "checking"


def take(owner: UUID, import_id: int | None = None) -> Hold | None:
    """Take the next import that is due, or the one that is named if it is; None if none is."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE subscriber_import
               SET state = CASE state WHEN 'waiting' THEN 'running' ELSE state END,
                   owner = %(owner)s, epoch = epoch + 1, setbacks = setbacks + 1,
                   lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
             WHERE id = (SELECT id FROM subscriber_import
                          WHERE state IN ('checking', 'waiting', 'running')
                            AND (lease_until IS NULL OR lease_until < clock_timestamp())
                            AND (%(id)s::bigint IS NULL OR id = %(id)s)
                          ORDER BY id LIMIT 1
                          FOR UPDATE SKIP LOCKED)
            RETURNING id, epoch, state, setbacks
            """,
            {"owner": owner, "lease_s": lease_s(), "id": import_id},
        )
        row = cursor.fetchone()
    return Hold(row[0], owner, *row[1:]) if row else None


def guard(cursor: CursorWrapper, hold: Hold) -> None:
    """
    Begin a transaction of this hold: renew the lease and keep the import's row to its end.

    Raises `LostError` if the hold is over. A process that freezes in the middle of the transaction
    would keep everybody else out; the server ends it when the lease does.
    """
    cursor.execute(
        """
        UPDATE subscriber_import
           SET lease_until = clock_timestamp() + make_interval(secs => %s)
         WHERE id = %s AND owner = %s AND epoch = %s AND state = %s
           AND lease_until >= clock_timestamp()
        """,
        [lease_s(), hold.import_id, hold.owner, hold.epoch, hold.state],
    )
    if cursor.rowcount != 1:
        raise LostError
    cursor.execute(
        "SELECT set_config('idle_in_transaction_session_timeout', %s, true)",
        [f"{int(lease_s() * 1000)}ms"],
    )


def keep(hold: Hold) -> None:
    """Renew the lease between pieces, while the file is read as far as the checkpoint."""
    with transaction.atomic(), connection.cursor() as cursor:
        guard(cursor, hold)


def give_back(hold: Hold) -> None:
    """Let somebody else go on at once. Nothing happens if the hold was lost before."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE subscriber_import SET owner = NULL, lease_until = NULL
             WHERE id = %s AND owner = %s AND epoch = %s AND state IN ('checking', 'running')
            """,
            [hold.import_id, hold.owner, hold.epoch],
        )


def lease_s() -> float:
    """How long a process may be silent before somebody else goes on, in seconds."""
    return max(settings.DELIVERY_LEASE_S, SHORTEST_LEASE_S)
