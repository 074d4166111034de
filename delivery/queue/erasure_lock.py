"""The lock that separates the erasure of a reader from enqueueing and imports."""

from django.db import connection

_LOCK_KEY = "hashtextextended('homing: nobody is forgotten while copies are made', 0)"

# A transaction-level lock, which also works behind a connection pooler.
LOCK_ENQUEUE = f"SELECT pg_advisory_xact_lock_shared({_LOCK_KEY})"
_LOCK_ERASURE = f"SELECT pg_advisory_xact_lock({_LOCK_KEY})"


def wait_for_enqueues() -> None:
    """Wait for running enqueues and imports, and block new ones until commit.

    A running enqueue or import may have read the reader's address already, and would write it again
    after the erasure.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_ERASURE)
