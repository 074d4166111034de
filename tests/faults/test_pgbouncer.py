"""Homing works behind PgBouncer, which lends a session for each transaction.

There are fewer sessions than clients. A client sees the session state that another client left, and
loses its own state. So Homing must use no session state and no start-up options.
"""

from concurrent.futures import ThreadPoolExecutor

import psycopg
from django.contrib.auth.models import Permission
from django.db import connection

from delivery.models import Edition
from idempotency.models import PostedForm
from tests.faults.delivery_stack import Stage
from tests.faults.wait_until import accepted, held
from tests.publishing.author_browser import WindowOf

READERS = 500

# PgBouncer keeps these settings for each client, and sets them on the session that it lends.
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


def test_few_sessions_and_a_restarted_pooler_lose_no_copy(stage: Stage) -> None:
    with stage.behind_a_pooler(2) as url:
        edition = stage.newsroom.publish(readers=READERS)
        stage.sandbox.latency_s = 0.02
        stage.sandbox.set_fault("hold", calls=6)
        # The held calls must last until all workers have started.
        options = ("--until-empty", "--concurrency", "2")
        three = [stage.worker(*options, url=url, DELIVERY_HTTP_DEADLINE_S="20") for _ in range(3)]
        held(stage.provider, 6)
        stage.sandbox.gate.release()

        accepted(stage.provider, READERS // 5)
        three[0].kill()
        for share in (2, 3):
            accepted(stage.provider, share * READERS // 5)
            connection.close()
            stage.pooler.restart()

        for worker in three[1:]:
            assert worker.end() == 0, worker.output
        stage.all_got_one(edition, READERS)


def test_nothing_is_left_on_a_session_of_the_pooler(stage: Stage) -> None:
    with stage.server.admin() as admin:
        # The database's time zone differs from Django's, so Django must set the zone on its
        # connections.
        admin.execute(f"ALTER DATABASE {stage.database} SET timezone = 'Asia/Tokyo'")
    # Use one session for all clients, so that a client sees the state that the previous client
    # left.
    with (
        stage.behind_a_pooler(1) as url,
        psycopg.connect(url, autocommit=True, prepare_threshold=None) as stranger,
    ):

        def session() -> int:
            """Return the session's id; check that no client left its settings on the session."""
            found = stranger.execute(LEFT_ON_A_SESSION, [list(FOLLOWED)]).fetchall()
            assert found == []
            assert stranger.execute("SHOW timezone").fetchone() == ("Asia/Tokyo",)
            row = stranger.execute("SELECT pg_backend_pid()").fetchone()
            assert row is not None
            return int(row[0])

        first = session()
        edition = stage.newsroom.publish(readers=40)
        assert session() == first
        assert author_of(stage).publish().status == 303
        assert session() == first
        stage.sandbox.set_fault("accept_then_close", calls=1)
        worker = stage.worker("--until-empty", url=url)
        for share in (20, 40, 60, 80):
            accepted(stage.provider, share)
            assert session() == first
        assert worker.end() == 0, worker.output
        assert session() == first

        assert stage.newsroom.counts(edition).sent == 40
    summary = stage.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (80, 80)


def author_of(stage: Stage) -> WindowOf:
    """Sign in an author who may publish; return the author's browser window."""
    author = stage.newsroom.author
    author.is_staff = True
    author.save()
    author.user_permissions.add(Permission.objects.get(codename="publish_edition"))
    return WindowOf(author)


def test_repeated_and_parallel_form_posts_publish_once(stage: Stage) -> None:
    with stage.behind_a_pooler(2):
        stage.newsroom.confirm(20)
        window = author_of(stage)
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
        stage.newsroom.deliver_all()
    assert stage.sandbox.summary()["accepted"] == 20
