"""Run calls on separate connections: several at once, or one waiting for a lock."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

PATIENCE_S = 60


def beside(call: Callable[[], Any]) -> Future[Any]:
    """Start a call on a second connection, and return a future of its result."""
    pool = ThreadPoolExecutor(1)
    begun = pool.submit(_closing_its_connection, call)
    pool.shutdown(wait=False)
    return begun


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make calls that begin at the same moment, and return their results."""
    together = Barrier(len(calls), timeout=PATIENCE_S)

    def run(call: Callable[[], Any]) -> Any:
        connection.ensure_connection()
        together.wait()
        return call()

    begun = [beside(lambda call=call: run(call)) for call in calls]
    return [each.result(PATIENCE_S) for each in begun]


def wait_until_somebody_waits(call: Future[Any] | None = None, *, sessions: int = 1) -> None:
    """Wait until sessions of this test's database wait for locks of others.

    Fail at once if `call` has ended: it was expected to wait.
    """
    with connection.cursor() as cursor:
        for _ in range(PATIENCE_S * 100):
            # The lock for which a session waits may name no database. A waiting session also holds
            # a lock on a table, which names the database.
            cursor.execute(
                "SELECT (SELECT count(DISTINCT pid) FROM pg_locks AS waits "
                "JOIN pg_locks AS held USING (pid) "
                "JOIN pg_database ON pg_database.oid = held.database "
                "WHERE NOT waits.granted AND datname = current_database()), pg_sleep(0.01)"
            )
            if cursor.fetchone()[0] >= sessions:
                return
            if call is not None and call.done():
                raise AssertionError(f"the call did not wait for a lock: {call.result()}")
    raise AssertionError(f"{sessions} sessions were expected to wait for a lock")


def _closing_its_connection(call: Callable[[], Any]) -> Any:
    try:
        return call()
    finally:
        connection.close()
