"""What a copy costs the database from its claim to its end, counted by the database itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import psycopg
import pytest
from django.db import connection

from benchmarks.database_work import DatabaseWork
from delivery.queue.books import books_of
from tests.delivery.newsroom import Newsroom
from tests.faults.own_server import OwnServer
from tests.faults.watched_worker import ROOT

pytestmark = pytest.mark.timeout(600)

COPIES = 20_000
BATCHES = COPIES // 200
# Two kilobytes, as an ordinary letter.
LETTER = "<p>Dear {{ name|reader }}, the swifts have gone. </p>" + "<p>Nobody saw them.</p>" * 95

FEW_ROWS = {
    "fillfactor=50",
    "autovacuum_vacuum_scale_factor=0",
    "autovacuum_vacuum_threshold=200",
    "autovacuum_analyze_scale_factor=0",
    "autovacuum_analyze_threshold=500",
}
GROWS = {
    "autovacuum_vacuum_scale_factor=0.02",
    "autovacuum_vacuum_insert_scale_factor=0.05",
    "autovacuum_analyze_scale_factor=0.02",
}
SETTINGS = {
    "delivery": {
        "fillfactor=45",
        "autovacuum_vacuum_scale_factor=0.01",
        "autovacuum_vacuum_insert_scale_factor=0.05",
        "autovacuum_analyze_scale_factor=0.02",
    },
    "batch": {
        "fillfactor=50",
        "autovacuum_vacuum_scale_factor=0",
        "autovacuum_vacuum_threshold=500",
        "autovacuum_vacuum_cost_delay=0",
        "autovacuum_analyze_scale_factor=0",
        "autovacuum_analyze_threshold=500",
    },
    "attempt": GROWS,
    "evidence": GROWS,
    "provider_event": GROWS,
    "errand": FEW_ROWS,
    "pace": FEW_ROWS,
    "tally": FEW_ROWS,
    "worker": FEW_ROWS,
}


@pytest.mark.parametrize("table", SETTINGS)
def test_a_table_that_changes_with_every_call_has_room_and_is_cleaned_in_time(
    newsroom: Newsroom, table: str
) -> None:
    assert set(one("SELECT reloptions FROM pg_class WHERE relname = %s", table)) == SETTINGS[table]


def test_a_copy_is_updated_once_within_its_page_and_writes_400_bytes_at_most(
    newsroom: Newsroom, server: OwnServer, database: str, instant_provider: str
) -> None:
    newsroom.confirm(COPIES)
    run("CHECKPOINT")
    edition = newsroom.publish(html=LETTER)
    with psycopg.connect(server.url(database), autocommit=True) as counted:
        counting = DatabaseWork(counted, ("delivery", "batch"))
        said = deliver(server.url(database), instant_provider)
        work = counting.so_far()

    assert not work.had_a_checkpoint, "a checkpoint came in between, so this says nothing"
    assert said["sent"] == COPIES
    assert books_of(edition.pk).sent == COPIES
    delivery, batch = work.changes["delivery"], work.changes["batch"]
    print(f"{work.wal_bytes / COPIES:.0f} B of WAL a copy, {delivery}")
    assert work.wal_bytes / COPIES <= 400

    assert delivery.updated == COPIES
    assert delivery.hot >= 0.8 * COPIES
    # State and lease decide which of its indexes a batch is in, so it cannot stay within its page.
    # It is one row for two hundred copies: claimed, started, settled.
    assert batch.updated == 3 * BATCHES

    for table in ("delivery", "batch"):
        run(f"VACUUM {table}")
        assert dead_rows_of(table) <= BATCHES


def deliver(database_url: str, provider_url: str) -> dict[str, Any]:
    """What a worker says in the end that has sent all there is."""
    done = subprocess.run(
        [sys.executable, "manage.py", "deliver", "--until-empty"],
        cwd=ROOT,
        env=os.environ
        | {
            "DATABASE_URL": database_url,
            "POSTMARK_BASE_URL": provider_url,
            "POSTMARK_SERVER_TOKEN": "instant",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def dead_rows_of(table: str) -> int:
    """Versions of rows that nobody sees any more, as the server counts them."""
    run("SELECT pg_stat_force_next_flush()")
    return int(one("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = %s", table))


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def one(sql: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        return cursor.fetchone()[0]
