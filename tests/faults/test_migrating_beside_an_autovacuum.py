"""A table that the server is just vacuuming is changed all the same: an autovacuum makes way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.delivery.newsroom import Newsroom
from tests.faults.onlooker import Onlooker, everything_is_there
from tests.faults.waiting_for import eventually
from tests.faults.watched_migrate import WatchedMigrate

VACUUMS = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
                   WHERE backend_type = 'autovacuum worker' AND datname = current_database()
                     AND query LIKE 'autovacuum: VACUUM%public.batch%')
"""


@pytest.fixture
def a_vacuum_that_takes_long(newsroom: Newsroom, onlooker: Onlooker) -> Iterator[None]:
    """The server's own vacuum of a table, which rests after each page of it."""
    newsroom.publish(200)
    onlooker.do(
        "ALTER TABLE batch SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0"
        ", autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)"
    )
    onlooker.do(
        "DO $$ BEGIN FOR i IN 1..2000 LOOP UPDATE batch SET state = state; END LOOP; END $$"
    )
    try:
        onlooker.do("ALTER SYSTEM SET autovacuum_naptime = '1s'")
        onlooker.do("SELECT pg_reload_conf()")
        eventually(lambda: bool(onlooker.one(VACUUMS)), "the server vacuumed the table")
        yield
    finally:
        onlooker.do("ALTER SYSTEM RESET autovacuum_naptime")
        onlooker.do("SELECT pg_reload_conf()")


def test_a_vacuum_of_the_server_makes_way_for_a_migration(
    a_vacuum_that_takes_long: None,
    migrates: Callable[..., WatchedMigrate],
    onlooker: Onlooker,
    settings: Any,
) -> None:
    # As it is set for everybody: the server asks its vacuum to go only after deadlock_timeout.
    run = migrates("--patience", "20", MIGRATE_LOCK_TIMEOUT_S=str(settings.MIGRATE_LOCK_TIMEOUT_S))
    run.end()
    assert everything_is_there(onlooker)
