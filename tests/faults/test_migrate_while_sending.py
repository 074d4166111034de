"""Migrations run while workers send: waits are short, and each change is complete."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from newsletter_site.migration_locks import ONE_RUN
from tests.faults.delivery_stack import Stage
from tests.faults.processes.migration_observer import Onlooker, everything_is_there
from tests.faults.processes.watched_migrate import WatchedMigrate, migrate_in_a_process
from tests.faults.wait_until import eventually

Migrates = Callable[..., WatchedMigrate]

WAITS = "Waiting for a lock. The oldest transactions: "


def test_workers_continue_while_a_migration_cannot_get_its_lock(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    # A query that reads the table blocks the change, and later queries would wait behind the
    # change.
    with stage.hold("SELECT count(*) FROM batch"):
        run = migrates()
        run.wait_for(WAITS)
        stage.an_issue_goes_out()
        run.wait_for(WAITS, times=2)
        assert onlooker.applied == []
    run.end()
    assert re.search(rf"{WAITS}.*\. Next try in 0\.25 s, the last one within \d+ s\.", run.output)
    assert everything_is_there(onlooker)


def test_migration_names_lock_holders_without_their_statements(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    with stage.hold("SELECT 'swift@example.net' FROM batch") as session:
        pid = session.info.backend_pid
        run = migrates("--patience", "0", "--lock-timeout", "0.2")
        run.end(exit_code=1)
    # The message may also name processes of the server, because an autovacuum can run at the same
    # time.
    holder = rf"session {pid} \(transaction open for \d+ s, idle in transaction\)"
    end = r"\. Applied migrations stay, and none is half done\."
    assert re.search(rf"Gave up after \d+ s\. {WAITS}.*{holder}.*{end}", run.output)
    assert "swift@example.net" not in run.output
    assert onlooker.applied == []


def test_settings_of_a_migration_end_with_it(stage: Stage, migrates: Migrates) -> None:
    # A lock that allows only one run of `migrate` uses one session. All other statements of the
    # run use the other session.
    with stage.behind_a_pooler(2) as url:
        migrates().end()
        with (
            psycopg.connect(url, prepare_threshold=None) as one,
            psycopg.connect(url, prepare_threshold=None) as other,
        ):
            for session in (one, other):
                left = session.execute(
                    "SELECT name FROM pg_settings WHERE source = 'session' AND name LIKE '%timeout'"
                    " UNION ALL SELECT mode FROM pg_locks WHERE locktype = 'advisory'"
                )
                assert left.fetchall() == []


@pytest.fixture
def a_vacuum_that_takes_long(stage: Stage, onlooker: Onlooker) -> Iterator[None]:
    """Run the server's own vacuum of a table with a pause after each page."""
    stage.newsroom.publish(200)
    onlooker.do(
        "ALTER TABLE batch SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0"
        ", autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)"
    )
    onlooker.do(
        "DO $$ BEGIN FOR i IN 1..2000 LOOP UPDATE batch SET state = state; END LOOP; END $$"
    )
    vacuums = (
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"
        " AND datname = current_database() AND query LIKE 'autovacuum: VACUUM%public.batch%')"
    )
    try:
        onlooker.do("ALTER SYSTEM SET autovacuum_naptime = '1s'")
        onlooker.do("SELECT pg_reload_conf()")
        eventually(lambda: bool(onlooker.one(vacuums)), "the server vacuumed the table")
        yield
    finally:
        onlooker.do("ALTER SYSTEM RESET autovacuum_naptime")
        onlooker.do("SELECT pg_reload_conf()")


def test_autovacuum_yields_to_a_migration(
    a_vacuum_that_takes_long: None, migrates: Migrates, onlooker: Onlooker, settings: Any
) -> None:
    # Use the default lock timeout, which must be long enough: the server cancels its own vacuum
    # only after deadlock_timeout.
    migrates("--patience", "20", "--lock-timeout", str(settings.MIGRATE_LOCK_TIMEOUT_S)).end()
    assert everything_is_there(onlooker)


def test_second_of_two_runs_finds_the_migration_done(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    with stage.hold("SELECT FROM batch"):
        # PostgreSQL completes the index only after the waiting transaction of the other run.
        one = migrates("--lock-timeout", "10")
        eventually(lambda: onlooker.waiting == 1, "the first waits for its lock")
        other = migrates("--lock-timeout", "10")
        eventually(lambda: onlooker.waiting == 2, "the second waits")
    one.end()
    other.end()
    assert everything_is_there(onlooker)
    assert (one.output + other.output).count("later_1_a_column... OK") == 1
    assert "No migrations to apply." in other.output


def test_waiting_for_another_run_is_reported(stage: Stage, migrates: Migrates) -> None:
    with stage.hold(f"SELECT pg_advisory_xact_lock({ONE_RUN})"):
        run = migrates()
        run.wait_for("Waiting for another migrate")
    run.end()


def test_migration_is_recorded_in_its_own_transaction(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    onlooker.do(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RAISE 'not recorded'; END $$"
    )
    for name, done in (
        ("later_1_a_column", "SELECT FROM pg_attribute WHERE attname = 'colour'"),
        ("later_5_a_table_that_points", "SELECT FROM pg_class WHERE relname = 'remark'"),
    ):
        onlooker.do(
            "CREATE TRIGGER refuse BEFORE INSERT ON django_migrations FOR EACH ROW "
            f"WHEN (NEW.name = '{name}') EXECUTE FUNCTION refuse()"
        )
        run = migrates()
        run.end(exit_code=2)
        assert "not recorded" in run.output
        assert onlooker.one(f"SELECT NOT EXISTS ({done})"), name
        onlooker.do("DROP TRIGGER refuse ON django_migrations")


def test_migrate_waits_for_a_starting_database(stage: Stage) -> None:
    with stage.server.away("fast"):
        run = migrate_in_a_process(stage.url)
        try:
            run.wait_for("Waiting for the database: ")
        except AssertionError:
            run.kill()
            raise
    assert run.end() == 0, run.output
    with psycopg.connect(stage.url, autocommit=True) as session:
        assert everything_is_there(Onlooker(session))


def test_migrate_waits_for_a_database_that_went_away(stage: Stage, migrates: Migrates) -> None:
    with closing(psycopg.connect(stage.url)) as session:
        session.execute("SELECT FROM batch")
        run = migrates()
        run.wait_for(WAITS)
        with stage.server.away("immediate"):
            run.wait_for("Waiting for the database: ")
    run.end()
    with psycopg.connect(stage.url, autocommit=True) as session:
        assert everything_is_there(Onlooker(session))


def test_unusable_database_ends_the_run_at_once(stage: Stage, migrates: Migrates) -> None:
    for wrong, why in (("postgres:", "authentication failed"), ("/test_", "does not exist")):
        url = stage.url.replace(wrong, wrong[0] + "not_" + wrong[1:], 1)
        run = migrates(url=url)
        run.end(exit_code=2)
        assert why in run.output
        assert "Waiting for" not in run.output


def test_silent_database_ends_the_run_with_one_sentence() -> None:
    url = "postgres://nobody:secret@127.0.0.1:9/homing"
    run = migrate_in_a_process(url, "--patience", "0.3")
    assert run.end() == 1, run.output
    last = run.output.strip().splitlines()[-1]
    assert "Gave up after" in last
    assert "connection refused" in last.lower()
    assert "secret" not in run.output
    assert "Traceback" not in run.output


LetGo = Callable[[], None]

# PostgreSQL completes the new index only after all transactions that wrote to its table ended.
A_ROW_WRITTEN = "UPDATE delivery SET name = name WHERE version = 0"


@pytest.fixture
def killed_in_the_build(stage: Stage, onlooker: Onlooker) -> Iterator[LetGo]:
    """Kill a run during its index build; the server continues the build.

    Yields a function that ends the transaction for which the build waits.
    """
    with stage.hold(A_ROW_WRITTEN) as blocking:
        cut = migrate_in_a_process(stage.url)
        try:
            eventually(lambda: onlooker.index == "invalid", "the index is being built")
            stage.an_issue_goes_out()  # other sessions do not wait for the index build
        finally:
            cut.kill()
        yield blocking.rollback


def test_invalid_index_of_a_killed_run_is_rebuilt(
    stage: Stage, killed_in_the_build: LetGo, migrates: Migrates, onlooker: Onlooker
) -> None:
    onlooker.do(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active'"
    )
    eventually(lambda: onlooker.index == "invalid", "the build was cancelled")
    killed_in_the_build()
    migrates().end()
    assert everything_is_there(onlooker)


def test_index_build_outliving_its_run_is_awaited_and_repeated(
    stage: Stage, killed_in_the_build: LetGo, migrates: Migrates, onlooker: Onlooker
) -> None:
    run = migrates()
    eventually(lambda: onlooker.waiting >= 1, "the next run waits for the build")
    killed_in_the_build()
    run.end()
    assert everything_is_there(onlooker)
