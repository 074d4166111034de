"""Authors with browsers, the gate that holds the work, and a look at who waits."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from tests.idempotency import printing_site

# Long enough for any machine: it ends a test that hangs, and decides nothing else.
PATIENCE_S = 60


@pytest.fixture
def leaflets(transactional_db: None) -> Iterator[None]:
    """Make the table of the printing site for one test."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS leaflet")
        cursor.execute(printing_site.TABLE)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE leaflet")


def titles() -> list[str]:
    """Return the title of every leaflet that was printed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT title FROM leaflet ORDER BY title")
        return [title for (title,) in cursor.fetchall()]


@dataclass
class Browser:
    """One window of one author's browser. `post` sends the form of the printing site."""

    client: Client
    author: Any
    url: str = "/leaflets/"

    def window(self, **options: Any) -> Browser:
        """Open another window: the same session, nothing else in common."""
        client = Client(**options)
        client.cookies["sessionid"] = self.client.cookies["sessionid"].value
        return Browser(client, self.author, self.url)

    def post(self, key: str | None = "a-key", header: str | None = None, **fields: Any) -> Any:
        data = {"title": "Hello", "text": "World", **fields}
        if key is not None:
            data["idempotency_key"] = key
        headers = {"Idempotency-Key": header} if header is not None else {}
        return self.client.post(self.url, data, headers=headers)

    def messages(self) -> list[Any]:
        """Open the next page and return the messages that it shows."""
        return self.client.get("/printed/").json()["messages"]


@pytest.fixture
def new_browser(leaflets: None) -> Callable[[], Browser]:
    """Sign a new author in."""

    def sign_in() -> Browser:
        author = get_user_model().objects.create_user(username=f"author-{uuid.uuid4().hex[:8]}")
        client = Client()
        client.force_login(author)
        return Browser(client, author)

    return sign_in


@pytest.fixture
def browser(new_browser: Callable[[], Browser]) -> Browser:
    return new_browser()


@dataclass
class Onlooker:
    """A connection of its own that sees who waits, and holds the gate."""

    db: psycopg.Connection[Any]
    gate_is_closed: bool = field(default=False)

    def one(self, sql: str, *params: Any) -> Any:
        row = self.db.execute(sql, params).fetchone()
        assert row is not None
        return row[0]

    @contextmanager
    def closed_gate(self) -> Iterator[None]:
        """Keep all work from passing the gate."""
        self.one("SELECT pg_advisory_lock(%s)::text", printing_site.GATE)
        self.gate_is_closed = True
        try:
            yield
        finally:
            self.open_gate()

    def open_gate(self) -> None:
        if self.gate_is_closed:
            self.one("SELECT pg_advisory_unlock(%s)", printing_site.GATE)
            self.gate_is_closed = False

    def at_the_gate(self) -> int:
        """Count the posts whose work waits at the gate."""
        return self._waiting("advisory", "%pg_advisory_xact_lock_shared%")

    def waiting_for_the_first(self) -> int:
        """Count the posts that wait for another one to end."""
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
        """Wait until a count is as expected. PostgreSQL gives no signal when somebody waits."""
        for _ in range(PATIENCE_S * 50):
            if count() == expected:
                return
            self.one("SELECT pg_sleep(0.02)::text")
        raise AssertionError(f"{count.__name__} is {count()} and not {expected}.")


@pytest.fixture
def onlooker(leaflets: None) -> Iterator[Onlooker]:
    connection.ensure_connection()
    params = connection.get_connection_params()
    wanted = ("host", "port", "user", "password", "dbname")
    with psycopg.connect(
        **{name: params[name] for name in wanted if params.get(name)}, autocommit=True
    ) as db:
        yield Onlooker(db)


class Posts:
    """Posts that run at the same time, each with a database connection of its own."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=32)

    def start(self, post: Callable[[], Any]) -> Future[Any]:
        """Start a post in a thread. Ask the future for its answer."""

        def with_own_connection() -> Any:
            try:
                return post()
            finally:
                connection.close()

        return self._pool.submit(with_own_connection)

    def close(self) -> None:
        self._pool.shutdown()


@pytest.fixture
def posts(onlooker: Onlooker) -> Iterator[Posts]:
    """Posts in threads. The gate is opened in the end, so that none of them is left behind."""
    posts = Posts()
    yield posts
    onlooker.open_gate()
    posts.close()


@pytest.fixture
def during_work(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Say what else happens during the work of the printing site."""

    def set_to(action: Callable[..., Any]) -> None:
        monkeypatch.setattr(printing_site, "during_work", action)

    return set_to
