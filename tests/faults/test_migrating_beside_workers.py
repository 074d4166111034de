"""The tables are changed while workers send: nobody waits long, and nothing is half done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import pytest

from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.faults.onlooker import Onlooker, everything_is_there
from tests.faults.own_server import OwnServer
from tests.faults.pooler import Pooler
from tests.faults.waiting_for import eventually, held
from tests.faults.watched_migrate import WatchedMigrate
from tests.faults.watched_worker import WatchedWorker

Workers = Callable[..., WatchedWorker]
Migrates = Callable[..., WatchedMigrate]
AllGotOne = Callable[[Any, int], None]

READERS = 200


# --- Beside workers -------------------------------------------------------------------------------


def test_a_column_an_index_and_a_rule_come_while_workers_send(
    newsroom: Newsroom,
    provider: SandboxServer,
    workers: Workers,
    migrates: Migrates,
    onlooker: Onlooker,
    all_got_one: AllGotOne,
) -> None:
    edition = newsroom.publish(READERS)
    # Two calls are in the air from before the first change until after the last.
    provider.sandbox.set_fault("hold", moment="after_accept", calls=2)
    working = [workers("--until-empty", DELIVERY_HTTP_DEADLINE_S="60") for _ in range(2)]
    held(provider, 2)
    run = migrates()
    run.end()
    assert everything_is_there(onlooker)
    provider.sandbox.gate.release("answer")
    assert [worker.end() for worker in working] == [0, 0]
    all_got_one(edition, READERS)


def test_while_a_lock_is_not_to_be_had_workers_go_on_and_all_is_sent(
    newsroom: Newsroom,
    migrates: Migrates,
    onlooker: Onlooker,
    holder: Callable[[str], Any],
    an_issue_goes_out: Callable[[], None],
) -> None:
    # Whoever has read a table keeps it from being changed, and whoever comes after the change
    # that waits would wait with it.
    with holder("SELECT count(*) FROM batch"):
        run = migrates()
        run.wait_for("Waits for a lock on table")
        an_issue_goes_out()
        run.wait_for("Waits for a lock on table", times=2)
        assert onlooker.applied == []
    run.end()
    assert everything_is_there(onlooker)


def test_what_a_migration_waits_for_is_said_without_the_words_of_anybodys_statement(
    newsroom: Newsroom, migrates: Migrates, holder: Callable[[str], Any]
) -> None:
    with holder("SELECT 'swift@example.net' FROM batch") as session:
        pid = session.info.backend_pid
        run = migrates()
        run.wait_for("Tries again in")
    run.end()
    (first, *_) = (line for line in run.said.splitlines() if line.startswith("Waits for"))
    assert f'Waits for a lock on table "batch": session {pid} (its transaction open for ' in first
    assert " s, idle after SELECT). Tries again in 0.25 s, for " in first
    assert "swift@example.net" not in run.said
    assert "Traceback" not in run.said


def test_when_patience_ends_one_sentence_says_what_was_waited_for_and_nothing_is_half_done(
    newsroom: Newsroom, migrates: Migrates, onlooker: Onlooker, holder: Callable[[str], Any]
) -> None:
    with holder("SELECT FROM batch"):
        run = migrates("--patience", "2", "--lock-timeout", "0.5")
        run.end(exit_code=1)
    assert 'of waiting for a lock on table "batch": session' in run.said
    assert "What was applied stays, nothing is half done" in run.said
    assert "Traceback" not in run.said
    assert onlooker.applied == []
    run = migrates()
    run.end()
    assert everything_is_there(onlooker)


def test_what_is_set_for_a_migration_ends_with_it(
    newsroom: Newsroom, server: OwnServer, database: str, migrates: Migrates
) -> None:
    # One session is the guard's; all else goes over the other.
    pooler = Pooler(server, pool_size=2)
    try:
        migrates(url=pooler.url(database)).end()
        with (
            psycopg.connect(pooler.url(database), prepare_threshold=None) as one,
            psycopg.connect(pooler.url(database), prepare_threshold=None) as other,
        ):
            for session in (one, other):
                left = session.execute(
                    "SELECT name FROM pg_settings WHERE source = 'session' AND name LIKE '%timeout'"
                ).fetchall()
                assert left == []
                locks = session.execute("SELECT FROM pg_locks WHERE locktype = 'advisory'")
                assert locks.fetchall() == []
    finally:
        pooler.remove()


# --- Two at once ----------------------------------------------------------------------------------


def test_of_two_that_start_at_once_one_migrates_and_the_other_finds_it_done(
    newsroom: Newsroom, migrates: Migrates, onlooker: Onlooker, holder: Callable[[str], Any]
) -> None:
    with holder("SELECT FROM batch"):
        one = migrates("--lock-timeout", "60")
        eventually(lambda: onlooker.waiting == 1, "the first waited for its lock")
        other = migrates("--lock-timeout", "60")
        eventually(lambda: onlooker.waiting == 2, "the second waited")
    one.end()
    other.end()
    assert everything_is_there(onlooker)
    assert (one.said + other.said).count("later_1_a_column... OK") == 1
    assert "No migrations to apply." in other.said


def test_a_migration_that_somebody_applied_since_the_plan_was_made_is_not_applied_again(
    newsroom: Newsroom, migrates: Migrates, onlooker: Onlooker, holder: Callable[[str], Any]
) -> None:
    # As where the guard of a whole run was lost with its connection: it is not waited for.
    with holder("SELECT pg_advisory_xact_lock(1752395011, 2)") as other:
        run = migrates("--lock-timeout", "60")
        eventually(lambda: onlooker.waiting == 1, "it waited with its plan made")
        other.execute("ALTER TABLE batch ADD colour text DEFAULT '' NOT NULL")
        other.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('delivery', 'later_1_a_column', now())"
        )
        other.commit()
    run.end()
    assert "later_1_a_column... done meanwhile by another run" in run.said
    assert everything_is_there(onlooker)


def test_another_run_that_is_at_work_is_said_to_be_waited_for(
    newsroom: Newsroom, migrates: Migrates, holder: Callable[[str], Any]
) -> None:
    with holder("SELECT FROM batch"):
        one = migrates()
        one.wait_for('Waits for a lock on table "batch"')
        with holder("SELECT pg_advisory_xact_lock(1752395011, 2)"):
            other = migrates()
            other.wait_for("Waits for another migrate that is at work")
    one.end()
    other.end()


def test_a_migration_is_on_record_in_the_transaction_that_did_it(
    newsroom: Newsroom, migrates: Migrates, onlooker: Onlooker
) -> None:
    migrates().end()
    for name, column, table in (
        ("later_1_a_column", "attname = 'colour'", "pg_attribute"),
        ("later_5_a_table_that_points", "conrelid = 'remark'::regclass", "pg_constraint"),
    ):
        done = f"SELECT xmin FROM {table} WHERE {column} LIMIT 1"
        on_record = "SELECT xmin FROM django_migrations WHERE name = %s"
        assert onlooker.one(done) == onlooker.one(on_record, name)
    assert everything_is_there(onlooker)


# --- A database that is away ----------------------------------------------------------------------


def test_a_database_that_does_not_answer_yet_is_waited_for(
    newsroom: Newsroom, server: OwnServer, database: str, migrates: Migrates
) -> None:
    with server.away("fast"):
        run = migrates()
        run.wait_for("Waits for the database: ")
    run.end()
    with psycopg.connect(server.url(database), autocommit=True) as session:
        assert everything_is_there(Onlooker(session))


def test_a_database_that_goes_away_in_the_middle_is_waited_for(
    newsroom: Newsroom, server: OwnServer, database: str, migrates: Migrates
) -> None:
    with closing(psycopg.connect(server.url(database))) as session:
        session.execute("SELECT FROM batch")
        run = migrates()
        run.wait_for('Waits for a lock on table "batch"')
        with server.away("immediate"):
            run.wait_for("Waits for the database: ")
    run.end()
    with psycopg.connect(server.url(database), autocommit=True) as session:
        assert everything_is_there(Onlooker(session))


def test_a_database_that_never_answers_ends_the_run_with_one_sentence(
    server: OwnServer, migrates: Migrates
) -> None:
    run = migrates("--patience", "0.3", url="postgres://nobody:secret@127.0.0.1:9/homing")
    run.end(exit_code=1)
    last = run.said.strip().splitlines()[-1]
    assert "Gave up after" in last
    assert "Connection refused" in last or "connection refused" in last
    assert "secret" not in run.said
    assert "Traceback" not in run.said


@pytest.mark.parametrize(
    ("right", "wrong"), [("postgres:", "postgres:not_"), ("/test_", "/no_such_test_")]
)
def test_what_no_waiting_changes_is_said_at_once(
    server: OwnServer, database: str, migrates: Migrates, right: str, wrong: str
) -> None:
    run = migrates(url=server.url(database).replace(right, wrong, 1))
    run.end(exit_code=1)
    assert "The database cannot be used: " in run.said
    assert "Waits for" not in run.said
    assert "Traceback" not in run.said
