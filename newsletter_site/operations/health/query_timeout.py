"""Runs a query with a time limit, also on a database that hangs without an error: in a thread, on a
connection of its own. Callers that come meanwhile share its answer."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

Answer = TypeVar("Answer")

# Longer than a busy database takes, and shorter than probes wait.
TIMEOUT_S = 2.0


class NoAnswerError(Exception):
    """The database gave no answer; the text says why, for an operator."""


class BoundedQuery(Generic[Answer]):
    """A query with a limit in seconds, which the server enforces too, in its own transaction."""

    def __init__(
        self, query: Callable[[CursorWrapper], Answer], *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._query = query
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._running: tuple[Future[Answer], float] | None = None

    def answer(self) -> Answer:
        """Return the answer. Raises `NoAnswerError` once the running query's limit has passed."""
        with self._lock:
            if self._running is None:
                future: Future[Answer] = Future()
                try:
                    threading.Thread(
                        target=self._run, args=[future], name="bounded query", daemon=True
                    ).start()
                except RuntimeError as error:  # No thread is left: the next caller may get one.
                    raise NoAnswerError(f"it could not be asked: {error}") from error
                self._running = future, time.monotonic()
            future, started_at_s = self._running
        left_s = started_at_s + self._timeout_s - time.monotonic()
        try:
            return future.result(max(0.0, left_s))
        except Exception as error:
            if not future.done():
                raise NoAnswerError(f"nothing came within {self._timeout_s:g} seconds") from error
            words = " ".join(str(error).split()) or "nothing more"
            raise NoAnswerError(f"{type(error).__name__}: {words}") from error

    def _run(self, future: Future[Answer]) -> None:
        try:
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    # For this transaction only, as behind a pooler. It also bounds lock waits.
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
