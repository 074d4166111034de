"""Run a query with a time limit, in a thread with its own connection.

The limit works even if the database hangs without an error. If several callers ask at the same
time, they share one query.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from delivery.monitoring.database_fault import cause_of

Answer = TypeVar("Answer")

# Even a busy database answers within this time, and callers of health checks wait longer.
TIMEOUT_S = 2.0


class NoAnswerError(Exception):
    """The database did not answer. The text gives the reason, for operators."""


class BoundedQuery(Generic[Answer]):
    """A query with a limit in seconds, in its own transaction.

    The server enforces the limit too.
    """

    def __init__(
        self, query: Callable[[CursorWrapper], Answer], *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._query = query
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._running: tuple[Future[Answer], float] | None = None

    def answer(self) -> Answer:
        """Return the answer.

        Raise `NoAnswerError` when the limit of the running query passes.
        """
        with self._lock:
            if self._running is None:
                future: Future[Answer] = Future()
                try:
                    threading.Thread(
                        target=self._run, args=[future], name="bounded query", daemon=True
                    ).start()
                except RuntimeError as error:  # The system has no thread left.
                    raise NoAnswerError(f"the query could not start: {error}") from error
                self._running = future, time.monotonic()
            future, started_at_s = self._running
        left_s = started_at_s + self._timeout_s - time.monotonic()
        try:
            return future.result(max(0.0, left_s))
        except Exception as error:
            if not future.done():
                raise NoAnswerError(f"no answer within {self._timeout_s:g} seconds") from error
            raise NoAnswerError(cause_of(error)) from error

    def _run(self, future: Future[Answer]) -> None:
        try:
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    # Set the timeout only for this transaction, because a pooler shares sessions.
                    # The timeout also limits lock waits.
                    cursor.execute(
                        "SELECT set_config('statement_timeout', %s, true)",
                        [f"{int(self._timeout_s * 1000)}ms"],
                    )
                    found = self._query(cursor)
            finally:
                connection.close()
                with self._lock:
                    self._running = None
        except Exception as error:  # noqa: BLE001 -- raised again in every caller
            future.set_exception(error)
        else:
            future.set_result(found)
