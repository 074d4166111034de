"""The real web server while its pages hang: probes are answered, who comes later is told."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest
import requests

from idempotency.models import PostedForm
from newsletter_site.come_again import RETRY_AFTER_S
from newsletter_site.operating.places import AT_ONCE
from subscribers.models import Subscriber
from tests.deployment.served_site import FROM_THE_PROXY, ServedSite, served_site
from tests.faults.own_server import OwnServer
from tests.faults.waiting_for import eventually

MANY = AT_ONCE + 12
# Far longer than a refusal takes, and short enough for a test that sees none to end by itself.
REFUSED_WITHIN_S = 30

pytestmark = pytest.mark.django_db(transaction=True)


def post(site: ServedSite, path: str, form: dict[str, str]) -> requests.Response:
    return requests.post(site.url + path, form, headers=FROM_THE_PROXY, timeout=REFUSED_WITHIN_S)


def says_come_again(answer: requests.Response) -> bool:
    return (answer.status_code, answer.headers["Retry-After"]) == (503, str(RETRY_AFTER_S))


def pages_that_wait(server: OwnServer, database: str) -> int:
    """How many sessions stand before a table that is locked."""
    with server.admin() as admin:
        row = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'",
            [database],
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_database_that_hangs_leaves_room_for_probes_and_nothing_that_is_refused_was_begun(
    server: OwnServer, here: str
) -> None:
    with served_site(server.url(here)) as site, ThreadPoolExecutor(AT_ONCE + MANY) as visitors:

        def visits(number: int, path: str) -> list[Future[requests.Response]]:
            return [visitors.submit(site.get, path) for _ in range(number)]

        with psycopg.connect(server.url(here)) as other:
            other.execute("LOCK TABLE newsletter IN ACCESS EXCLUSIVE MODE")
            held = visits(AT_ONCE, "/")
            eventually(lambda: pages_that_wait(server, here) == AT_ONCE, "the pages hang")
            with server.frozen(here):
                later = visits(MANY, "/")
                posted = post(site, "/subscriptions/", {"email": "ada@example.org"})
                one_click = post(site, "/unsubscribe/x/", {"List-Unsubscribe": "One-Click"})
                assert [says_come_again(one.result()) for one in later] == [True] * MANY
                assert says_come_again(posted)
                assert "Nothing of what you pressed was begun" in posted.text
                assert says_come_again(one_click)
                assert site.get("/health/live/").status_code == 200
                assert site.get("/health/ready/").status_code == 503
                assert site.get("/static/homing.css").status_code == 200
                assert not any(one.done() for one in held)
        # What waited is done in the end; whoever comes in a rush now waits and is answered.
        assert [one.result().status_code for one in held] == [200] * AT_ONCE
        # The first page of its kind also waits for code and templates to be read.
        assert site.get("/archive/").status_code == 200
        rush = visits(MANY, "/archive/")
        assert [one.result().status_code for one in rush] == [200] * MANY
    assert not Subscriber.objects.exists()
    assert not PostedForm.objects.exists()
