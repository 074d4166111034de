"""Pages and probes while the database is away, hangs, or lets nobody in: 503, come again."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from newsletter_site.come_again import RETRY_AFTER_S
from newsletter_site.operating import probes
from newsletter_site.operating.asked_in_time import WITHIN_S
from newsletter_site.tokens.secret import token_of
from subscribers.unsubscribe_token import token_for
from tests.delivery.newsroom import Newsroom
from tests.faults.own_server import OwnServer
from tests.faults.waiting_for import eventually

# Well formed, and nobody's: whether it is anybody's only the database knows.
TOKEN = token_of("a" * 43)
AWAY = {"status": "unavailable", "reasons": ["The database does not answer."]}

pytestmark = pytest.mark.django_db(transaction=True)


def visitor() -> Client:
    return Client(raise_request_exception=False)


def ask(check: str) -> tuple[int, Any]:
    answer = visitor().get(f"/health/{check}/")
    return answer.status_code, json.loads(answer.content)


def come_again(answer: HttpResponse) -> str:
    """The page, which says so."""
    assert answer.status_code == 503, (answer.status_code, answer.content[:300])
    assert answer["Retry-After"] == str(RETRY_AFTER_S)
    assert answer["Cache-Control"] == "no-store"
    assert not answer.cookies
    return answer.content.decode()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_every_page_says_come_again_while_the_database_is_away(
    server: OwnServer, here: str, mode: str
) -> None:
    author = visitor()
    author.force_login(get_user_model().objects.create_superuser(username="author"))
    (reader,) = Newsroom().confirm(1)
    unsubscribing = f"/unsubscribe/{token_for(reader.pk)}/"
    one_click = {"List-Unsubscribe": "One-Click"}
    assert ask("ready")[0] == 200

    with server.away(mode):
        answer = visitor().get("/", secure=True)
        page = come_again(answer)
        assert "<h1>Back in a moment</h1>" in page
        assert "homing.css" in page
        assert "Nothing is lost" in page
        assert "Content-Security-Policy" in answer
        posted = visitor().post("/subscriptions/", {"email": "ada@example.org"}, secure=True)
        assert "reload this page to press again" in come_again(posted)
        come_again(visitor().post(unsubscribing, one_click, secure=True))
        come_again(author.get("/admin/newsletters/issues/", secure=True))
        for path in (
            "/admin/newsletters/00000000-0000-4000-8000-000000000000/progress.json",
            "/api/v1/issues/",
        ):
            headers = {"authorization": f"Bearer {TOKEN}"}
            answer = author.get(path, headers=headers, secure=True)
            json.loads(come_again(answer))
            assert "json" in answer["Content-Type"]
        assert ask("ready") == ask("workers") == (503, AWAY)
        assert ask("live")[0] == 200
        assert "connection" in probes.ready().details[0]

    assert ask("ready")[0] == visitor().get("/", secure=True).status_code == 200
    assert author.get("/admin/newsletters/issues/", secure=True).status_code == 200
    assert visitor().post(unsubscribing, one_click, secure=True).status_code == 200
    reader.refresh_from_db()
    assert reader.state == "unsubscribed"


def test_a_database_that_hangs_hangs_no_probe(server: OwnServer, here: str) -> None:
    def asking() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "asks the database"]

    assert ask("ready")[0] == 200
    with server.frozen(here):
        began = time.monotonic()
        assert ask("ready") == (503, AWAY)
        # Generous for a busy machine, and far below what a connection would wait by itself.
        assert time.monotonic() - began < WITHIN_S + 5
        first = asking()
        assert ask("ready") == (503, AWAY)
        # However often they come, no second one hangs beside the first.
        assert asking() == first
        assert len(first) == 1
    eventually(lambda: ask("ready")[0] == 200, "the probe is well again")


def test_a_database_that_lets_nobody_in_is_not_ready(server: OwnServer, here: str) -> None:
    connection.close()
    with server.admin() as admin:
        # A limit on connections would not hold for a superuser, as this one is.
        admin.execute(f"ALTER DATABASE {here} ALLOW_CONNECTIONS false")
        assert ask("ready") == (503, AWAY)
        admin.execute(f"ALTER DATABASE {here} ALLOW_CONNECTIONS true")
