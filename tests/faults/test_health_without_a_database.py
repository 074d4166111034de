"""Probes while the database is away, hangs, or has no connection left."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection
from django.test import Client

from newsletter_site.operating import probes
from newsletter_site.operating.asked_in_time import WITHIN_S, AskedInTime, NoAnswerError
from tests.faults.own_server import OwnServer
from tests.faults.waiting_for import PATIENCE_S, eventually

pytestmark = pytest.mark.django_db(transaction=True)

AWAY = {"status": "unavailable", "reasons": ["The database does not answer."]}


@pytest.fixture
def here(server: OwnServer, database: str) -> Any:
    with server.as_djangos_own(server.url(database)):
        yield database


def ask(check: str) -> tuple[int, Any]:
    answer = Client(raise_request_exception=False).get(f"/health/{check}/")
    return answer.status_code, json.loads(answer.content)


def test_a_database_that_is_down_is_said_without_a_detail_and_the_process_lives(
    server: OwnServer, here: str
) -> None:
    assert ask("ready")[0] == 200
    with server.away("fast"):
        assert ask("ready") == ask("workers") == (503, AWAY)
        assert ask("live")[0] == 200
        assert "connection" in probes.ready().details[0]
    assert ask("ready")[0] == 200


def test_a_database_that_hangs_hangs_no_probe(server: OwnServer, here: str) -> None:
    assert ask("ready")[0] == 200
    with server.frozen(here):
        began = time.monotonic()
        assert ask("ready") == (503, AWAY)
        # Generous for a busy machine, and far below what a connection would wait by itself.
        assert time.monotonic() - began < WITHIN_S + 5
        asking = [one for one in threading.enumerate() if one.name == "asks the database"]
        assert ask("ready") == (503, AWAY)
        # However often they come, no second one hangs beside the first.
        still = [one for one in threading.enumerate() if one.name == "asks the database"]
        assert still == asking
        assert len(still) == 1
    eventually(lambda: ask("ready")[0] == 200, "the probe is well again")


def test_a_table_that_is_locked_hangs_no_probe(server: OwnServer, here: str) -> None:
    with psycopg.connect(server.url(here)) as other:
        other.execute("LOCK TABLE django_migrations, worker IN ACCESS EXCLUSIVE MODE")
        assert ask("ready") == (503, AWAY)
        assert ask("workers") == (503, AWAY)


def test_the_server_itself_ends_what_takes_too_long(server: OwnServer, here: str) -> None:
    """Else every probe that gave up would leave a session behind."""
    ended: list[str] = []
    is_over = threading.Event()

    def long_one(cursor: Any) -> None:
        try:
            cursor.execute("SELECT pg_sleep(20)")
        except DatabaseError as error:
            ended.append(str(error))
            raise
        finally:
            is_over.set()

    with pytest.raises(NoAnswerError):
        AskedInTime(long_one, within_s=0.2).answer()

    assert is_over.wait(PATIENCE_S)
    assert ended == ["canceling statement due to statement timeout"]


def test_a_database_that_lets_nobody_in_is_not_ready(server: OwnServer, here: str) -> None:
    connection.close()
    with server.admin() as admin:
        # A limit on connections would not hold for a superuser, as this one is.
        admin.execute(f"ALTER DATABASE {here} ALLOW_CONNECTIONS false")
        assert ask("ready") == (503, AWAY)
        admin.execute(f"ALTER DATABASE {here} ALLOW_CONNECTIONS true")


def test_probes_that_come_at_once_put_one_question(server: OwnServer, here: str) -> None:
    gate = threading.Event()
    counting = threading.Lock()
    asking = most = 0

    def slow(cursor: Any) -> int:
        nonlocal asking, most
        with counting:
            asking += 1
            most = max(most, asking)
        assert gate.wait(30)
        with counting:
            asking -= 1
        return 7

    question = AskedInTime(slow, within_s=30)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(question.answer())) for _ in range(5)]
    for thread in threads:
        thread.start()
    eventually(lambda: most > 0, "one asks")
    gate.set()
    for thread in threads:
        thread.join(30)
    assert answers == [7] * 5
    assert most == 1
