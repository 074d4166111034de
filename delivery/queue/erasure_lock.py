"""The lock that keeps erasing a reader apart from enqueueing and imports."""

from django.db import connection

_LOCK_KEY = "hashtextextended('homing: nobody is forgotten while copies are made', 0)"

# Held to the end of the transaction, so that both also hold behind a connection pooler.
LOCK_ENQUEUE = f"SELECT pg_advisory_xact_lock_shared({_LOCK_KEY})"
_LOCK_ERASURE = f"SELECT pg_advisory_xact_lock({_LOCK_KEY})"


def wait_for_enqueues() -> None:
    """Wait for enqueues and imports in progress, and hold off new ones until the transaction ends.
    They may have read the address already, and would bring it back."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_ERASURE)
