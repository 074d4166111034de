"""The lock between making deliveries and erasing a person: one never happens during the other."""

from django.db import connection

_TURNS = "hashtextextended('homing: nobody is forgotten while copies are made', 0)"

# Held to the end of the transaction, so that both also hold behind a connection pooler.
LOCK_ENQUEUE = f"SELECT pg_advisory_xact_lock_shared({_TURNS})"

FORGET = f"SELECT pg_advisory_xact_lock({_TURNS})"


def wait_for_enqueues() -> None:
    """
    Have no edition be published and no piece of a list imported until the caller's transaction
    ends, and wait for those that are.

    What is being published now has its audience already, and is not to be seen yet: it would bring
    the address back. So would a piece that has asked already who was erased.
    """
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
