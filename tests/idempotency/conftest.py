"""Fixtures: signed-in authors, concurrent posts and gates."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from tests.idempotency import one_form_site
from tests.idempotency.concurrent_posts import Onlooker, Posts
from tests.idempotency.form_browser import Window


@pytest.fixture
def leaflets(transactional_db: None, settings: Any) -> Iterator[None]:
    """Set up the site `one_form_site` and its table for one test."""
    settings.ROOT_URLCONF = one_form_site.__name__
    settings.MIDDLEWARE = one_form_site.MIDDLEWARE
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS leaflet")
        cursor.execute(one_form_site.TABLE)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE leaflet")


@pytest.fixture
def sign_in(leaflets: None) -> Callable[[], Window]:
    """Sign a new author in."""

    def sign_in() -> Window:
        author = get_user_model().objects.create_user(username=f"author-{uuid.uuid4().hex[:8]}")
        client = Client()
        client.force_login(author)
        return Window(client, author)

    return sign_in


@pytest.fixture
def window(sign_in: Callable[[], Window]) -> Window:
    """Return the first window of an author who is signed in."""
    return sign_in()


@pytest.fixture
def onlooker(leaflets: None, database_url: str) -> Iterator[Onlooker]:
    """Open a connection that observes the database."""
    with psycopg.connect(database_url, autocommit=True) as db:
        yield Onlooker(db)


@pytest.fixture
def posts(onlooker: Onlooker) -> Iterator[Posts]:
    """Run posts in threads; at the end open the gates, so that all threads end."""
    posts = Posts()
    yield posts
    for gate in set(onlooker.closed):
        onlooker.open_gate(gate)
    posts.close()


@pytest.fixture
def during_work(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Set a function that also runs during the work of `one_form_site`."""

    def set_to(action: Callable[..., Any]) -> None:
        monkeypatch.setattr(one_form_site, "during_work", action)

    return set_to
