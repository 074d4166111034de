"""Run concurrent posts in threads, pause their work at gates, count waiting posts."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection

from tests.idempotency.one_form_site import FIRST_GATE

# This limit is long enough for any machine. The limit ends only tests that hang.
PATIENCE_S = 60


@dataclass
class Onlooker:
    """A separate connection that counts the waiting posts, and opens and closes gates."""

    db: psycopg.Connection[Any]
    closed: set[int] = field(default_factory=set)

    def one(self, sql: str, *params: Any) -> Any:
        """Run a statement, and return its single value."""
        row = self.db.execute(sql, params).fetchone()
        assert row is not None
        return row[0]

    def close_gate(self, number: int = 0) -> None:
        """Make all work wait at this gate."""
        self.one("SELECT pg_advisory_lock(%s)::text", FIRST_GATE + number)
        self.closed.add(number)

    def open_gate(self, number: int = 0) -> None:
        """Let the work that waits at this gate continue."""
        if number in self.closed:
            self.one("SELECT pg_advisory_unlock(%s)", FIRST_GATE + number)
            self.closed.remove(number)

    @contextmanager
    def closed_gate(self) -> Iterator[None]:
        """Make all work wait at the first gate during this block."""
        self.close_gate()
        try:
            yield
        finally:
            self.open_gate()

    def at_a_gate(self) -> int:
        """Count the posts whose work waits at a gate."""
        return self._waiting("advisory", "%pg_advisory_xact_lock_shared%")

    def waiting_for_the_first(self) -> int:
        """Count the posts that wait until another post ends."""
        return self._waiting("transactionid", "INSERT INTO idempotency%")

    def _waiting(self, event: str, query: str) -> int:
        return int(
            self.one(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND wait_event_type = 'Lock' AND wait_event = %s AND query LIKE %s",
                event,
                query,
            )
        )

    def until(self, count: Callable[[], int], expected: int) -> None:
        """Poll until a count is as expected."""
        for _ in range(PATIENCE_S * 50):
            if count() == expected:
                return
            self.one("SELECT pg_sleep(0.02)::text")
        raise AssertionError(f"{count.__name__} is {count()} and not {expected}.")


class Posts:
    """Posts that run at the same time, each with a separate database connection."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=32)

    def start(self, post: Callable[[], Any]) -> Future[Any]:
        """Start a post in a thread. The returned future will hold the answer."""

        def with_own_connection() -> Any:
            try:
                return post()
            finally:
                connection.close()

        return self._pool.submit(with_own_connection)

    def close(self) -> None:
        """Wait until the last post has ended."""
        self._pool.shutdown()
