"""The tables are changed while workers send: nobody waits long, and nothing is half done."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from newsletter_site.migration_locks import ONE_RUN
from tests.faults.delivery_stack import Stage
from tests.faults.migration_observer import Onlooker, everything_is_there
from tests.faults.processes.watched_migrate import WatchedMigrate, migrate_in_a_process
from tests.faults.wait_until import eventually

Migrates = Callable[..., WatchedMigrate]

WAITS = "Waiting for a lock on table"


def test_while_a_lock_is_not_to_be_had_workers_go_on_and_all_is_sent(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    # Whoever has read a table keeps it from being changed, and whoever comes after the change
    # that waits would wait with it.
    with stage.hold("SELECT count(*) FROM batch"):
        run = migrates()
        run.wait_for(WAITS)
        stage.an_issue_goes_out()
        run.wait_for(WAITS, times=2)
        assert onlooker.applied == []
    run.end()
    assert everything_is_there(onlooker)


def test_what_a_migration_waits_for_is_said_without_the_words_of_anybodys_statement(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    with stage.hold("SELECT 'swift@example.net' FROM batch") as session:
        pid = session.info.backend_pid
        run = migrates("--patience", "6", "--lock-timeout", "2")
        run.end(exit_code=1)
    first = next(line for line in run.said.splitlines() if line.startswith("Waiting for"))
    assert f'{WAITS} "batch", held by session {pid} (transaction open for ' in first
    assert " s, idle after SELECT). Next try in 0.25 s, for at most " in first
    assert 's. Waiting for a lock on table "batch", held by session' in run.said
    assert "Applied migrations stay, and none is half done" in run.said
    assert "swift@example.net" not in run.said
    assert onlooker.applied == []


def test_what_is_set_for_a_migration_ends_with_it(stage: Stage, migrates: Migrates) -> None:
    # One session is the guard's; all else goes over the other.
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
    """The server's own vacuum of a table, which rests after each page of it."""
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


def test_a_vacuum_of_the_server_makes_way_for_a_migration(
    a_vacuum_that_takes_long: None, migrates: Migrates, onlooker: Onlooker, settings: Any
) -> None:
    # As it is set for everybody: the server asks its vacuum to go only after deadlock_timeout.
    migrates("--patience", "20", "--lock-timeout", str(settings.MIGRATE_LOCK_TIMEOUT_S)).end()
    assert everything_is_there(onlooker)


def test_of_two_that_start_at_once_one_migrates_and_the_other_finds_it_done(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    with stage.hold("SELECT FROM batch"):
        # An index is built only once the other has stopped waiting in its transaction.
        one = migrates("--lock-timeout", "10")
        eventually(lambda: onlooker.waiting == 1, "the first waited for its lock")
        other = migrates("--lock-timeout", "10")
        eventually(lambda: onlooker.waiting == 2, "the second waited")
    one.end()
    other.end()
    assert everything_is_there(onlooker)
    assert (one.said + other.said).count("later_1_a_column... OK") == 1
    assert "No migrations to apply." in other.said


def test_another_run_at_work_is_said_to_be_waited_for(stage: Stage, migrates: Migrates) -> None:
    with stage.hold(f"SELECT pg_advisory_xact_lock({ONE_RUN})"):
        run = migrates()
        run.wait_for("Waiting for another migrate")
    run.end()


def test_a_migration_is_on_record_in_the_transaction_that_did_it(
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
        assert "not recorded" in run.said
        assert onlooker.one(f"SELECT NOT EXISTS ({done})"), name
        onlooker.do("DROP TRIGGER refuse ON django_migrations")


def test_a_database_that_does_not_answer_yet_is_waited_for(stage: Stage) -> None:
    with stage.server.away("fast"):
        run = migrate_in_a_process(stage.url)
        try:
            run.wait_for("Waiting for the database: ")
        except AssertionError:
            run.kill()
            raise
    assert run.end() == 0, run.said
    with psycopg.connect(stage.url, autocommit=True) as session:
        assert everything_is_there(Onlooker(session))


def test_a_database_that_goes_away_is_waited_for(stage: Stage, migrates: Migrates) -> None:
    with closing(psycopg.connect(stage.url)) as session:
        session.execute("SELECT FROM batch")
        run = migrates()
        run.wait_for(f'{WAITS} "batch"')
        with stage.server.away("immediate"):
            run.wait_for("Waiting for the database: ")
    run.end()
    with psycopg.connect(stage.url, autocommit=True) as session:
        assert everything_is_there(Onlooker(session))


def test_an_unusable_database_ends_the_run_with_a_sentence(
    stage: Stage, migrates: Migrates
) -> None:
    url = stage.url
    for wrong in (
        url.replace("postgres:", "postgres:not_", 1),
        url.replace("/test_", "/no_such_test_", 1),
    ):
        run = migrates(url=wrong)
        run.end(exit_code=1)
        assert "The database cannot be used: " in run.said


def test_a_database_that_never_answers_ends_the_run_with_one_sentence() -> None:
    url = "postgres://nobody:secret@127.0.0.1:9/homing"
    run = migrate_in_a_process(url, "--patience", "0.3")
    assert run.end() == 1, run.said
    last = run.said.strip().splitlines()[-1]
    assert "Gave up after" in last
    assert "connection refused" in last.lower()
    assert "secret" not in run.said
    assert "Traceback" not in run.said


LetGo = Callable[[], None]

# Whoever has written to the table has to end before an index of it is whole.
A_ROW_WRITTEN = "UPDATE delivery SET name = name WHERE version = 0"


@pytest.fixture
def killed_in_the_build(stage: Stage) -> Iterator[LetGo]:
    """A run of which nothing is left but what the server goes on with; ends what holds that up."""
    with stage.hold(A_ROW_WRITTEN) as blocking:
        cut = migrate_in_a_process(stage.url)
        try:
            cut.wait_for("Other sessions do not wait.")
        finally:
            cut.kill()
        yield blocking.rollback


def test_a_build_that_waits_too_long_is_cut_and_leaves_no_invalid_index(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    with stage.hold(A_ROW_WRITTEN):
        run = migrates("--patience", "3")
        run.wait_for("Other sessions do not wait.")
        stage.an_issue_goes_out()
        run.wait_for("Gave up after")
        run.end(exit_code=1)
        eventually(lambda: onlooker.index != "valid", "the build was cut")
    assert [name[:7] for name in onlooker.applied] == ["later_1"]
    migrates().end()
    assert everything_is_there(onlooker)


def test_an_index_that_a_killed_run_left_invalid_is_built_anew(
    stage: Stage, killed_in_the_build: LetGo, migrates: Migrates, onlooker: Onlooker
) -> None:
    onlooker.do(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active'"
    )
    eventually(lambda: onlooker.index == "invalid", "the build was cut")
    killed_in_the_build()
    migrates().end()
    assert everything_is_there(onlooker)


def test_a_build_that_goes_on_after_its_run_was_killed_is_waited_for_and_built_anew(
    stage: Stage, killed_in_the_build: LetGo, migrates: Migrates, onlooker: Onlooker
) -> None:
    run = migrates()
    run.wait_for("Waiting for older transactions")
    killed_in_the_build()
    run.end()
    assert everything_is_there(onlooker)
