"""Leases of imports, by the database's clock. Each chunk renews its lease."""

from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

SHORTEST_LEASE_S = 2.0  # a chunk takes a few tenths of a second
# An import that was claimed this often without completing a chunk is refused.
MAX_STALLED_CLAIMS = 10


class LeaseLostError(Exception):
    """Another process has the import, or it was discarded. Writing must stop."""


class Lease(NamedTuple):
    """One process's claim on an import. A later lease has a higher `epoch`."""

    import_id: int
    owner: UUID
    epoch: int
    state: str
    stalled_claims: int

    @property
    def is_check(self) -> bool:
        return self.state == "checking"

    @property
    def is_undo(self) -> bool:
        return self.state == "undoing"


def claim_import(owner: UUID, import_id: int | None = None) -> Lease | None:
    """Claim the next due import, or `import_id` if it is due; None if nothing is due."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE subscriber_import
               SET state = CASE state WHEN 'waiting' THEN 'running' ELSE state END,
                   owner = %(owner)s, epoch = epoch + 1, stalled_claims = stalled_claims + 1,
                   lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
             WHERE id = (SELECT id FROM subscriber_import
                          WHERE state IN ('checking', 'waiting', 'running', 'undoing')
                            AND (lease_until IS NULL OR lease_until < clock_timestamp())
                            AND (%(id)s::bigint IS NULL OR id = %(id)s)
                          ORDER BY id LIMIT 1
                          FOR UPDATE SKIP LOCKED)
            RETURNING id, epoch, state, stalled_claims
            """,
            {"owner": owner, "lease_s": lease_s(), "id": import_id},
        )
        row = cursor.fetchone()
    return Lease(row[0], owner, *row[1:]) if row else None


def is_claimable() -> bool:
    """Whether an unclaimed check, import or undo is due."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT EXISTS (SELECT FROM subscriber_import
                            WHERE state IN ('checking', 'waiting', 'running', 'undoing')
                              AND (lease_until IS NULL OR lease_until < clock_timestamp()))
            """
        )
        return bool(cursor.fetchone()[0])


def lease_of(owner: UUID) -> Lease | None:
    """Renew the lease of an owner whose process has ended; None if it has none."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE subscriber_import
               SET lease_until = clock_timestamp() + make_interval(secs => %s)
             WHERE owner = %s AND state IN ('checking', 'running', 'undoing')
            RETURNING id, epoch, state, stalled_claims
            """,
            [lease_s(), owner],
        )
        row = cursor.fetchone()
    return Lease(row[0], owner, *row[1:]) if row else None


def guard(cursor: CursorWrapper, lease: Lease) -> None:
    """
    Renew the lease and lock the import's row, or raise `LeaseLostError`.

    The server ends the transaction when the lease expires, so a frozen process blocks nobody. It
    also notices a killed process while it waits for a lock.
    """
    cursor.execute(
        """
        UPDATE subscriber_import
           SET lease_until = clock_timestamp() + make_interval(secs => %s)
         WHERE id = %s AND owner = %s AND epoch = %s AND state = %s
           AND lease_until >= clock_timestamp()
        """,
        [lease_s(), lease.import_id, lease.owner, lease.epoch, lease.state],
    )
    if cursor.rowcount != 1:
        raise LeaseLostError
    cursor.execute(
        "SELECT set_config('idle_in_transaction_session_timeout', %s, true),"
        " set_config('client_connection_check_interval', '1s', true)",
        [f"{int(lease_s() * 1000)}ms"],
    )


def release(lease: Lease) -> None:
    """Release the lease, so that another process can continue; no-op if it is lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE subscriber_import SET owner = NULL, lease_until = NULL
             WHERE id = %s AND owner = %s AND epoch = %s
               AND state IN ('checking', 'running', 'undoing')
            """,
            [lease.import_id, lease.owner, lease.epoch],
        )


def lease_s() -> float:
    """Return the length of a lease in seconds."""
    return max(settings.DELIVERY_LEASE_S, SHORTEST_LEASE_S)
