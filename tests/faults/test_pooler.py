"""
Behind PgBouncer in transaction mode: fewer sessions than clients, each lent for a transaction.

What one client leaves on a session the next one meets, and what it relied on is gone. So nothing
may be left, and nothing relied on: no session state, no start-up options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from delivery.models import Edition
from idempotency.models import PostedForm
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.faults.own_server import OwnServer
from tests.faults.pooler import Pooler
from tests.faults.waiting_for import accepted, held
from tests.faults.watched_worker import WatchedWorker
from tests.publishing.window_of import WindowOf

Begin = Callable[..., WatchedWorker]
Behind = Callable[[int], AbstractContextManager[Pooler]]

READERS = 500

# PgBouncer follows these for each client by itself, and sets them on the session it lends.
FOLLOWED = (
    "application_name",
    "client_encoding",
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
    "IntervalStyle",
)

LEFT_ON_A_SESSION = """
    SELECT 'setting ' || name || ' = ' || setting FROM pg_settings
        WHERE source = 'session' AND name <> ALL(%s)
    UNION ALL SELECT 'advisory lock' FROM pg_locks
        WHERE locktype = 'advisory' AND pid = pg_backend_pid()
    UNION ALL SELECT 'prepared statement ' || name FROM pg_prepared_statements
    UNION ALL SELECT 'cursor ' || name FROM pg_cursors WHERE name <> ''
    UNION ALL SELECT 'listening to ' || channel FROM pg_listening_channels() AS channel
    UNION ALL SELECT 'temporary table ' || relname FROM pg_class
        WHERE relpersistence = 't' AND pg_table_is_visible(oid)
"""


@pytest.fixture
def behind(newsroom: Newsroom, server: OwnServer, database: str) -> Behind:
    """Lets this process come to the database through a pooler with so many sessions."""

    @contextmanager
    def a_pooler(sessions: int) -> Iterator[Pooler]:
        pooler = Pooler(server, pool_size=sessions)
        try:
            with server.as_djangos_own(pooler.url(database)):
                yield pooler
        finally:
            pooler.remove()

    return a_pooler


def test_more_clients_than_sessions_a_killed_worker_and_a_restarted_pooler_cost_nobody_a_copy(
    newsroom: Newsroom,
    provider: SandboxServer,
    database: str,
    behind: Behind,
    workers: Begin,
    all_got_one: Callable[[Any, int], None],
) -> None:
    with behind(2) as pooler:
        edition = newsroom.publish(readers=READERS)
        provider.sandbox.latency_s = 0.02
        provider.sandbox.set_fault("hold", calls=6)
        url = pooler.url(database)
        three = [workers("--until-empty", "--concurrency", "2", url=url) for _ in range(3)]
        held(provider, 6)
        provider.sandbox.gate.release()

        accepted(provider, READERS // 5)
        three[0].kill()
        for share in (2, 3):
            accepted(provider, share * READERS // 5)
            connection.close()
            pooler.restart()

        for worker in three[1:]:
            assert worker.end() == 0, worker.said
        all_got_one(edition, READERS)


def test_nothing_is_left_on_a_session_by_publishing_posting_sending_and_looking_up(
    newsroom: Newsroom,
    provider: SandboxServer,
    server: OwnServer,
    database: str,
    behind: Behind,
    workers: Begin,
) -> None:
    with server.admin() as admin:
        # Another zone than Django's, so that Django has something to set on its connections.
        admin.execute(f"ALTER DATABASE {database} SET timezone = 'Asia/Tokyo'")
    # One session for everybody, so that whoever comes next meets what was left on it.
    with (
        behind(1) as pooler,
        psycopg.connect(pooler.url(database), autocommit=True, prepare_threshold=None) as stranger,
    ):

        def session() -> int:
            """Which session it is; the stranger finds nothing on it but its own zone."""
            found = stranger.execute(LEFT_ON_A_SESSION, [list(FOLLOWED)]).fetchall()
            assert found == []
            assert stranger.execute("SHOW timezone").fetchone() == ("Asia/Tokyo",)
            row = stranger.execute("SELECT pg_backend_pid()").fetchone()
            assert row is not None
            return int(row[0])

        first = session()
        edition = newsroom.publish(readers=40)
        assert session() == first
        assert author_of(newsroom).publish().status == 303
        assert session() == first
        provider.sandbox.set_fault("accept_then_close", calls=1)
        worker = workers("--until-empty", url=pooler.url(database))
        for share in (20, 40, 60, 80):
            accepted(provider, share)
            assert session() == first
        assert worker.end() == 0, worker.said
        assert session() == first

        assert newsroom.books(edition).sent == 40
    summary = provider.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (80, 80)


def author_of(newsroom: Newsroom) -> WindowOf:
    """A window in which the author may publish."""
    newsroom.author.is_staff = True
    newsroom.author.save()
    newsroom.author.user_permissions.add(Permission.objects.get(codename="publish_edition"))
    return WindowOf(newsroom.author)


def test_a_form_posted_again_and_at_once_publishes_once(
    newsroom: Newsroom, provider: SandboxServer, behind: Behind
) -> None:
    with behind(2):
        newsroom.confirm(20)
        window = author_of(newsroom)
        fields = window.open_form()
        windows = [window.another() for _ in range(6)]

        def post(window: WindowOf) -> tuple[int, str]:
            try:
                page = window.post(**fields)
                return page.status, str(page.answer.get("Location"))
            finally:
                connection.close()

        with ThreadPoolExecutor(len(windows)) as pool:
            answers = set(pool.map(post, windows))
        answers.add(post(window))

        assert len(answers) == 1
        assert answers.pop()[0] == 303
        assert Edition.objects.count() == PostedForm.objects.count() == 1
        newsroom.deliver_all()
    assert provider.sandbox.summary()["accepted"] == 20
