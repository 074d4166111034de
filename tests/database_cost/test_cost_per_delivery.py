"""What a copy costs the database from its claim to its end, counted by the database itself."""

import json
from typing import Any

import psycopg
import pytest
from django.db import connection

from benchmarks.database_work import DatabaseWork
from benchmarks.site.provider_process import a_provider
from delivery.reports.edition_counts import load_counts
from tests.delivery.edition_factory import Newsroom
from tests.faults.servers.postgres_server import OwnServer
from tests.proofs.environment import manage

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

COPIES = 20_000
BATCHES = COPIES // 200
# Two kilobytes, as an ordinary letter.
LETTER = "<p>Dear {{ name|reader }}, the swifts have gone. </p>" + "<p>Nobody saw them.</p>" * 95

# What the tables that change with every call are given by a migration: the most that is dead before
# a vacuum comes, as a share of the table and in rows.
FEW, SMALL = 500, 0.02
CHANGING = ["batch", "attempt", "delivery", "evidence", "provider_event"]
CHANGING += ["periodic_task", "send_rate", "metric_value", "worker"]


@pytest.mark.parametrize("table", CHANGING)
def test_a_table_that_changes_with_every_call_has_room_and_is_cleaned_in_time(
    newsroom: Newsroom, table: str
) -> None:
    options = one("SELECT reloptions FROM pg_class WHERE relname = %s", table)
    setting = {name: float(value) for name, value in (each.split("=") for each in options)}
    share = setting["autovacuum_vacuum_scale_factor"]
    assert 0 < share <= SMALL or setting["autovacuum_vacuum_threshold"] <= FEW
    # What only grows, and is not updated, needs no room.
    is_updated = table not in ("attempt", "evidence", "provider_event")
    assert setting.get("fillfactor", 100) <= (50 if is_updated else 100)
    assert setting.get("autovacuum_analyze_scale_factor", 0.1) <= SMALL
    if table in ("attempt", "delivery", "evidence", "provider_event"):
        assert setting.get("autovacuum_vacuum_insert_scale_factor", 0.2) <= 0.05
    if table == "batch":
        assert setting.get("autovacuum_vacuum_cost_delay") == 0


def test_a_copy_is_updated_once_within_its_page_and_writes_400_bytes_at_most(
    newsroom: Newsroom, server: OwnServer, database: str
) -> None:
    newsroom.confirm(COPIES)
    run("CHECKPOINT")
    edition = newsroom.publish(html=LETTER)
    with psycopg.connect(server.url(database), autocommit=True) as counted:
        counting = DatabaseWork(counted, ("delivery", "batch"))
        with a_provider() as provider:
            options = {"POSTMARK_BASE_URL": provider.url, "POSTMARK_SERVER_TOKEN": "instant"}
            options |= {"DELIVERY_NICENESS": "0"}
            said = manage(server.url(database), "deliver", "--until-empty", **options)
        work = counting.so_far()

    assert not work.had_a_checkpoint, "a checkpoint came in between, so this says nothing"
    assert json.loads(said.splitlines()[-1])["sent"] == COPIES
    assert load_counts(edition.pk).sent == COPIES
    delivery, batch = work.changes["delivery"], work.changes["batch"]
    print(f"{work.wal_bytes / COPIES:.0f} B of WAL a copy, {delivery}")
    assert work.wal_bytes / COPIES <= 400

    assert delivery.updated == COPIES
    assert delivery.hot >= 0.8 * COPIES
    # State and lease decide which of its indexes a batch is in, so it cannot stay within its page.
    # It is one row for two hundred copies: claimed, started, settled. If no call is free for a
    # batch within a second, another claim follows.
    assert 3 * BATCHES <= batch.updated <= 3 * BATCHES + 4

    for table in ("delivery", "batch"):
        run(f"VACUUM {table}")
        assert dead_rows_of(table) <= BATCHES


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
