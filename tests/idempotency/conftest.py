"""Authors with browsers, and what the tests of races need."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from tests.idempotency import printing_site
from tests.idempotency.browser import Browser
from tests.idempotency.onlooker import Onlooker, Posts


@pytest.fixture
def leaflets(transactional_db: None) -> Iterator[None]:
    """Make the table of the printing site for one test."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS leaflet")
        cursor.execute(printing_site.TABLE)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE leaflet")


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
    """The browser of an author who is signed in."""
    return new_browser()


@pytest.fixture
def onlooker(leaflets: None, database_url: str) -> Iterator[Onlooker]:
    """Someone who watches the database."""
    with psycopg.connect(database_url, autocommit=True) as db:
        yield Onlooker(db)


@pytest.fixture
def posts(onlooker: Onlooker) -> Iterator[Posts]:
    """Posts in threads. The gates are opened in the end, so that none of them is left behind."""
    posts = Posts()
    yield posts
    for gate in set(onlooker.closed):
        onlooker.open_gate(gate)
    posts.close()


@pytest.fixture
def during_work(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Say what else happens during the work of the printing site."""

    def set_to(action: Callable[..., Any]) -> None:
        monkeypatch.setattr(printing_site, "during_work", action)

    return set_to
