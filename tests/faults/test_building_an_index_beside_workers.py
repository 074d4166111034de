"""An index is built concurrently, whole or not at all, and never in place of another run's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.faults.onlooker import Onlooker, everything_is_there
from tests.faults.stage import Stage
from tests.faults.waiting_for import eventually
from tests.faults.watched_migrate import WatchedMigrate, migrate_in_a_process

Migrates = Callable[..., WatchedMigrate]
LetGo = Callable[[], None]

# Whoever has written to the table has to end before an index of it is whole.
A_ROW_WRITTEN = "UPDATE delivery SET name = name WHERE version = 0"


@pytest.fixture
def killed_in_the_build(stage: Stage) -> Iterator[LetGo]:
    """A run of which nothing is left but what the server goes on with; ends what holds that up."""
    with stage.hold(A_ROW_WRITTEN) as blocking:
        cut = migrate_in_a_process(stage.url)
        try:
            cut.wait_for("Nobody queues behind it.")
        finally:
            cut.kill()
        yield blocking.rollback


def test_a_build_that_waits_too_long_is_cut_and_leaves_no_invalid_index(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    with stage.hold(A_ROW_WRITTEN):
        run = migrates("--patience", "3")
        run.wait_for("Nobody queues behind it.")
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
    run.wait_for('the index "by_address", which the server still builds')
    killed_in_the_build()
    run.end()
    assert everything_is_there(onlooker)


def test_an_index_that_somebody_built_since_the_plan_was_made_is_left_as_it_is(
    stage: Stage, migrates: Migrates, onlooker: Onlooker
) -> None:
    # As where the guard of a whole run was lost with its connection: it is not waited for.
    migrates("delivery", "later_1_a_column").end()
    with stage.hold("SELECT pg_advisory_xact_lock(1752395011, 2)") as other:
        run = migrates("--lock-timeout", "60")
        eventually(lambda: onlooker.waiting == 1, "it waited with its plan made")
        other.execute("CREATE INDEX by_address ON delivery (address)")
        other.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('delivery', 'later_2_an_index_of_deliveries', now())"
        )
        other.commit()
    built = onlooker.one("SELECT 'by_address'::regclass::oid")
    run.end()
    assert "later_2_an_index_of_deliveries... done meanwhile by another run" in run.said
    assert onlooker.one("SELECT 'by_address'::regclass::oid") == built
    assert everything_is_there(onlooker)
