"""The database's work for one copy, measured with the database's own counters."""

import json
from typing import Any

import psycopg
import pytest
from django.db import connection

from benchmarks.database_work import DatabaseWork
from benchmarks.site.provider_process import a_provider
from delivery.reports.load_edition_counts import load_counts
from tests.delivery.edition_factory import Newsroom
from tests.faults.servers.postgres_server import OwnServer
from tests.run_manage_command import typed

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

COPIES = 20_000
BATCHES = COPIES // 200
# A letter of two kilobytes, which is an ordinary length.
LETTER = "<p>Dear {{ name|reader }}, the swifts have gone. </p>" + "<p>Nobody saw them.</p>" * 95

# A migration sets limits for tables that change with every call. A vacuum starts when a table has
# this number of dead rows plus this share of its rows.
FEW, SMALL = 500, 0.02
CHANGING = ["batch", "attempt", "delivery", "evidence", "provider_event"]
CHANGING += ["periodic_task", "send_rate", "metric_value", "worker"]


@pytest.mark.parametrize("table", CHANGING)
def test_frequently_updated_tables_have_fillfactor_and_timely_vacuum(
    newsroom: Newsroom, table: str
) -> None:
    options = one("SELECT reloptions FROM pg_class WHERE relname = %s", table)
    setting = {name: float(value) for name, value in (each.split("=") for each in options)}
    share = setting["autovacuum_vacuum_scale_factor"]
    assert 0 < share <= SMALL or setting["autovacuum_vacuum_threshold"] <= FEW
    # Rows of tables that only grow are not updated, so their pages need no free space.
    is_updated = table not in ("attempt", "evidence", "provider_event")
    assert setting.get("fillfactor", 100) <= (50 if is_updated else 100)
    assert setting.get("autovacuum_analyze_scale_factor", 0.1) <= SMALL
    if table in ("attempt", "delivery", "evidence", "provider_event"):
        assert setting.get("autovacuum_vacuum_insert_scale_factor", 0.2) <= 0.05
    if table == "batch":
        assert setting.get("autovacuum_vacuum_cost_delay") == 0


def test_copy_is_one_hot_update_of_400_bytes_at_most(
    newsroom: Newsroom, server: OwnServer, database: str
) -> None:
    if connection.pg_version < 150000:
        pytest.skip("PostgreSQL 14 does not count a session's work at once.")
    newsroom.confirm(COPIES)
    run("CHECKPOINT")
    edition = newsroom.publish(html=LETTER)
    with psycopg.connect(server.url(database), autocommit=True) as counted:
        counting = DatabaseWork(counted, ("delivery", "batch"))
        with a_provider() as provider:
            options = {"POSTMARK_BASE_URL": provider.url, "POSTMARK_SERVER_TOKEN": "instant"}
            options |= {"DELIVERY_NICENESS": "0"}
            output = typed(server.url(database), "deliver", "--until-empty", **options).stdout
        work = counting.so_far()

    assert not work.had_a_checkpoint, "a checkpoint makes this result invalid"
    assert json.loads(output.splitlines()[-1])["sent"] == COPIES
    assert load_counts(edition.pk).sent == COPIES
    delivery, batch = work.changes["delivery"], work.changes["batch"]
    print(f"{work.wal_bytes / COPIES:.0f} B of WAL a copy, {delivery}")
    assert work.wal_bytes / COPIES <= 400

    assert delivery.updated == COPIES
    assert delivery.hot >= 0.8 * COPIES
    # A batch's state and lease are in its indexes, so its updates cannot be HOT. A batch is one row
    # for two hundred copies, updated at claim, start and settlement. If no call slot is free within
    # a second, as on a busy machine, the batch is claimed again.
    assert 3 * BATCHES <= batch.updated < 3.5 * BATCHES

    for table in ("delivery", "batch"):
        run(f"VACUUM {table}")
        assert dead_rows_of(table) <= BATCHES


def dead_rows_of(table: str) -> int:
    """Return the number of dead row versions that the server counts."""
    run("SELECT pg_stat_force_next_flush()")
    return int(one("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = %s", table))


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def one(sql: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        return cursor.fetchone()[0]
