"""Pages and health checks answer 503 if the database is down, hangs or refuses."""

import json
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
import requests
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from idempotency.models import PostedForm
from newsletter_site.middleware.error_pages import RETRY_AFTER_S
from newsletter_site.operations.concurrency_limit import MAX_CONCURRENT_REQUESTS
from newsletter_site.operations.health import health_checks
from newsletter_site.operations.health.query_timeout import TIMEOUT_S
from newsletter_site.operations.release import running_release
from newsletter_site.tokens.authenticate import build_token
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import Subscriber
from tests.delivery.edition_factory import Newsroom
from tests.deployment.served_site import FROM_THE_PROXY, ServedSite, served_site
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import eventually

# A well-formed token; only the database knows whether it is valid.
TOKEN = build_token("a" * 43)
AWAY = {
    "status": "unavailable",
    "reasons": ["The database does not answer."],
    "release": str(running_release()),
}

pytestmark = pytest.mark.django_db(transaction=True)


def visitor() -> Client:
    return Client(raise_request_exception=False)


def ask(check: str) -> tuple[int, Any]:
    answer = visitor().get(f"/health/{check}/")
    return answer.status_code, json.loads(answer.content)


def assert_try_again_page(answer: HttpResponse) -> str:
    """Check that the response is the page that asks to try again."""
    assert answer.status_code == 503, (answer.status_code, answer.content[:300])
    assert answer["Retry-After"] == str(RETRY_AFTER_S)
    assert answer["Cache-Control"] == "no-store"
    assert not answer.cookies
    return answer.content.decode()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_pages_ask_to_try_again_without_a_database(server: OwnServer, here: str, mode: str) -> None:
    author = visitor()
    author.force_login(get_user_model().objects.create_superuser(username="author"))
    (reader,) = Newsroom().confirm(1)
    unsubscribing = f"/unsubscribe/{token_for(reader.pk)}/"
    one_click = {"List-Unsubscribe": "One-Click"}
    assert ask("ready")[0] == 200

    with server.away(mode):
        answer = visitor().get("/", secure=True)
        page = assert_try_again_page(answer)
        assert "<h1>Back in a moment</h1>" in page
        assert "homing.css" in page
        assert "Nothing is lost" in page
        assert "Content-Security-Policy" in answer
        posted = visitor().post("/subscriptions/", {"email": "ada@example.org"}, secure=True)
        assert "Reload this page to try again" in assert_try_again_page(posted)
        assert_try_again_page(visitor().post(unsubscribing, one_click, secure=True))
        assert_try_again_page(author.get("/admin/newsletters/issues/", secure=True))
        for path in (
            "/admin/newsletters/00000000-0000-4000-8000-000000000000/progress.json",
            "/api/v1/issues/",
        ):
            headers = {"authorization": f"Bearer {TOKEN}"}
            answer = author.get(path, headers=headers, secure=True)
            json.loads(assert_try_again_page(answer))
            assert "json" in answer["Content-Type"]
        assert ask("ready") == ask("workers") == (503, AWAY)
        assert ask("live")[0] == 200
        assert "connection" in health_checks.run_check("ready").details[0]

    assert ask("ready")[0] == visitor().get("/", secure=True).status_code == 200
    assert author.get("/admin/newsletters/issues/", secure=True).status_code == 200
    assert visitor().post(unsubscribing, one_click, secure=True).status_code == 200
    reader.refresh_from_db()
    assert reader.state == "unsubscribed"


def test_hanging_database_does_not_hang_probes(server: OwnServer, here: str) -> None:
    def asking() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "bounded query"]

    assert ask("ready")[0] == 200
    with server.frozen(here):
        began = time.monotonic()
        assert ask("ready") == (503, AWAY)
        # This limit is generous for a busy machine, and far below the time-out of a connection.
        assert time.monotonic() - began < TIMEOUT_S + 5
        first = asking()
        assert ask("ready") == (503, AWAY)
        # Although many health checks ask, at most one query hangs.
        assert asking() == first
        assert len(first) == 1
    eventually(lambda: ask("ready")[0] == 200, "the probe succeeds again")


def test_database_that_refuses_connections_is_not_ready(server: OwnServer, here: str) -> None:
    connection.close()
    with server.admin() as admin:
        # The test's user is a superuser, to whom a connection limit would not apply.
        admin.execute(f"ALTER DATABASE {here} ALLOW_CONNECTIONS false")
        assert ask("ready") == (503, AWAY)
        admin.execute(f"ALTER DATABASE {here} ALLOW_CONNECTIONS true")


MANY = MAX_CONCURRENT_REQUESTS + 12
# This time is far longer than a refusal takes, and short enough to end a test that gets no refusal.
REFUSED_WITHIN_S = 30


def post(site: ServedSite, path: str, form: dict[str, str]) -> requests.Response:
    return requests.post(site.url + path, form, headers=FROM_THE_PROXY, timeout=REFUSED_WITHIN_S)


def is_try_again_page(answer: requests.Response) -> bool:
    return (answer.status_code, answer.headers["Retry-After"]) == (503, str(RETRY_AFTER_S))


def pages_that_wait(server: OwnServer, database: str) -> int:
    """Return how many sessions wait for a locked table."""
    with server.admin() as admin:
        row = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'",
            [database],
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_hanging_database_leaves_room_for_probes(server: OwnServer, here: str) -> None:
    with (
        served_site(server.url(here)) as site,
        ThreadPoolExecutor(MAX_CONCURRENT_REQUESTS + MANY) as visitors,
    ):

        def visits(number: int, path: str) -> list[Future[requests.Response]]:
            return [visitors.submit(site.get, path) for _ in range(number)]

        with psycopg.connect(server.url(here)) as other:
            other.execute("LOCK TABLE newsletter IN ACCESS EXCLUSIVE MODE")
            held = visits(MAX_CONCURRENT_REQUESTS, "/")
            eventually(
                lambda: pages_that_wait(server, here) == MAX_CONCURRENT_REQUESTS, "the pages hang"
            )
            with server.frozen(here):
                later = visits(MANY, "/")
                posted = post(site, "/subscriptions/", {"email": "ada@example.org"})
                one_click = post(site, "/unsubscribe/x/", {"List-Unsubscribe": "One-Click"})
                assert [is_try_again_page(one.result()) for one in later] == [True] * MANY
                assert is_try_again_page(posted)
                assert "Your action was not started" in posted.text
                assert is_try_again_page(one_click)
                assert site.get("/health/live/").status_code == 200
                assert site.get("/health/ready/").status_code == 503
                assert site.get("/static/homing.css").status_code == 200
                assert not any(one.done() for one in held)
        # The waiting requests are answered in the end. A new group of requests waits too, and is
        # answered.
        assert [one.result().status_code for one in held] == [200] * MAX_CONCURRENT_REQUESTS
        # The first request of a page also waits until code and templates are loaded. After a quick
        # page, other requests may wait for a slot again.
        assert [site.get("/archive/").status_code for _ in range(2)] == [200, 200]
        rush = visits(MANY, "/archive/")
        assert [one.result().status_code for one in rush] == [200] * MANY
    assert not Subscriber.objects.exists()
    assert not PostedForm.objects.exists()
